-- Ends the block of a user. Idempotent.
-- KEYS[1]  the users that the user blocks: a sorted set, scored by time
-- KEYS[2]  the sessions, which have the version of the exclusions
-- ARGV[1]  the blocked user
-- Returns  the version of the exclusions; nil if there have never been any
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return redis.call('HGET', KEYS[2], 'exclusions') end
signal(KEYS[1], 'relation ' .. ARGV[1])
return raise_exclusions(KEYS[2])
