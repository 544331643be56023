-- Takes a use of an invite for a user who is about to be created.
-- KEYS[1]  the invite      KEYS[2]  its users, by time of use      KEYS[3]  those of them who may not exist
-- ARGV[1]  the user        ARGV[2]  the current time
-- Returns  1 if the use is taken, 0 if there is no such invite, -1 if it has expired, -2 if it is used up
if redis.call('ZSCORE', KEYS[2], ARGV[1]) then return 1 end
local invite = redis.call('HMGET', KEYS[1], 'uses', 'expires')
if not invite[1] then return 0 end
if invite[2] and tonumber(invite[2]) <= tonumber(ARGV[2]) then return -1 end
if redis.call('ZCARD', KEYS[2]) >= tonumber(invite[1]) then return -2 end
redis.call('ZADD', KEYS[2], ARGV[2], ARGV[1])
redis.call('ZADD', KEYS[3], ARGV[2], ARGV[1])
return 1
