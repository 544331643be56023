-- Replaces the details of a post's record, and the number of its likes that is stored with them, unless the record has
-- changed since they were read.
-- KEYS[1]  the record     KEYS[2]  the number of likes     KEYS[3]  the root shard of the likes
-- ARGV[1]  the details as read, '' for none    ARGV[2]  the new details    ARGV[3]  the new number of likes
-- Returns  1 if they are replaced, 0 otherwise
if redis.call('HEXISTS', KEYS[1], 'content') == 0 then return 0 end
if (redis.call('HGET', KEYS[1], 'details') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'details', ARGV[2])
if redis.call('EXISTS', KEYS[3]) == 0 or ARGV[3] == '0' then
  redis.call('DEL', KEYS[2])
else
  redis.call('SET', KEYS[2], ARGV[3])
end
return 1
