-- Removes the mute of a user. Idempotent. A mute that the user removes takes a token, and resets the timeline; that of
-- a deleted user ends by itself.
-- KEYS[1]  the mutes: a hash, user -> mute      KEYS[2]  the sessions, which have the version of the exclusions
-- KEYS[3]  the bucket     KEYS[4]  the timeline     KEYS[5]  posts removed from it: a sorted set
-- ARGV[1]  the muted user       ARGV[2]  now, in milliseconds, or '' if the mute ends by itself
-- ARGV[3]  refill interval of one token, in microseconds
-- ARGV[4]  capacity             ARGV[5]  number of tokens to take
-- Returns  { microseconds until there is a token, 0 if the user is not muted any more; the version of the exclusions,
--          nil if there have never been any }
if redis.call('HEXISTS', KEYS[1], ARGV[1]) == 0 then return { 0, redis.call('HGET', KEYS[2], 'exclusions') } end
local wait = throttle(KEYS[3], 2)
if wait > 0 then return { wait, redis.call('HGET', KEYS[2], 'exclusions') } end
redis.call('HDEL', KEYS[1], ARGV[1])
signal(KEYS[1], 'relation ' .. ARGV[1])
if ARGV[2] ~= '' then reset(KEYS[4], KEYS[5]) end
return { 0, raise_exclusions(KEYS[2]) }
