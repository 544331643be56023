-- Reads the number of members of a compact set, and the newest of them.
-- KEYS[1]  the newest members      KEYS[2]  the number of members
-- ARGV[1]  how many of the newest members to return
-- Returns  the number of members, and { member, time, member, time, ... }, newest first
local newest, size = KEYS[1], tonumber(ARGV[1])
local count = tonumber(redis.call('GET', KEYS[2]) or redis.call('ZCARD', newest))
if size == 0 then return { count, {} } end
return { count, redis.call('ZREVRANGE', newest, 0, size - 1, 'WITHSCORES') }
