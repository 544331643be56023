-- Changes the value of a username or a subject, if it is the expected value (compare-and-set).
-- KEYS[1]  the shard of the username index or of the subject index
-- ARGV[1]  the username or the subject    ARGV[2]  the expected value, '' for none
-- ARGV[3]  the new value, '' to free it
-- Returns  1 if it now has the new value, else 0
local held = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if held == ARGV[3] then return 1 end
if held ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1
