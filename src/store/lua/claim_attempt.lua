-- Binds an idempotency key to an attempt to publish, if it holds what it is thought to hold or, because
-- it has expired, nothing.
-- KEYS[1]  the idempotency key
-- ARGV[1]  what it must hold for anything to happen; '' for nothing
-- ARGV[2]  what it shall hold      ARGV[3]  seconds to remember it for
-- Returns  what it holds now
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return held end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return ARGV[2]
