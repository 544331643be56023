-- Ensures that no new user or post receives an id less than or equal to a given id.
-- KEYS[1]  the last id issued
-- ARGV[1]  the greatest id that must not be issued
-- Returns  the last id issued
local last = tonumber(redis.call('GET', KEYS[1]) or 0)
if last >= tonumber(ARGV[1]) then return last end
redis.call('SET', KEYS[1], ARGV[1])
return tonumber(ARGV[1])
