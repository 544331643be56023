-- Ends the block of a user. Idempotent. A block that the user ends takes a token, and resets the timeline; that of a
-- deleted user ends by itself.
-- KEYS[1]  the users that the user blocks: a sorted set, scored by time
-- KEYS[2]  the sessions, which have the version of the exclusions     KEYS[3]  the bucket
-- KEYS[4]  the timeline     KEYS[5]  posts removed from it: a sorted set
-- ARGV[1]  the blocked user     ARGV[2]  now, in milliseconds, or '' if the block ends by itself
-- ARGV[3]  refill interval of one token, in microseconds
-- ARGV[4]  capacity             ARGV[5]  number of tokens to take
-- Returns  { microseconds until there is a token, 0 if the user is not blocked any more; the version of the exclusions,
--          nil if there have never been any }
if not redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 0, redis.call('HGET', KEYS[2], 'exclusions') } end
local wait = throttle(KEYS[3], 2)
if wait > 0 then return { wait, redis.call('HGET', KEYS[2], 'exclusions') } end
redis.call('ZREM', KEYS[1], ARGV[1])
signal(KEYS[1], 'relation ' .. ARGV[1])
if ARGV[2] ~= '' then reset(KEYS[4], KEYS[5]) end
return { 0, raise_exclusions(KEYS[2]) }
