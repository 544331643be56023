-- Reads a user's block of another, and the follow of that user, atomically.
-- KEYS[1]  the users that the user blocks: a sorted set, scored by time
-- KEYS[2]  the sessions, which have the version of the exclusions
-- KEYS[3]  the users that the user follows: a sorted set, scored by time      KEYS[4]  the users that the user has
--          requested to follow: the same
-- ARGV[1]  the other user
-- Returns  { the time of the block or nil, the version of the exclusions or nil, { 'following', 'requested' or '', the
--          time or '' } }
local version = redis.call('HGET', KEYS[2], 'exclusions')
return { redis.call('ZSCORE', KEYS[1], ARGV[1]), version, { follow_of(KEYS[3], KEYS[4], ARGV[1]) } }
