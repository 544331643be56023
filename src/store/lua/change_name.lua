-- Changes what a username holds, if it holds what it is thought to hold.
-- KEYS[1]  the shard of the username index
-- ARGV[1]  the username    ARGV[2]  what it must hold for anything to happen
-- ARGV[3]  what it shall hold; '' to free it
-- Returns  1 if the name holds (or is) now what it should, else 0
local held = redis.call('HGET', KEYS[1], ARGV[1]) or ''
if held == ARGV[3] then return 1 end
if held ~= ARGV[2] then return 0 end
if ARGV[3] == '' then redis.call('HDEL', KEYS[1], ARGV[1])
else redis.call('HSET', KEYS[1], ARGV[1], ARGV[3]) end
return 1
