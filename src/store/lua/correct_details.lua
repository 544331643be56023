-- Replaces the details of a post's record, unless the record has changed since they were read.
-- KEYS[1]  the record
-- ARGV[1]  the details as read, '' for none    ARGV[2]  the new details
-- Returns  1 if they are replaced, 0 otherwise
if redis.call('HEXISTS', KEYS[1], 'content') == 0 then return 0 end
if (redis.call('HGET', KEYS[1], 'details') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'details', ARGV[2])
return 1
