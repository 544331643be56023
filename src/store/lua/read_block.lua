-- Reads a user's block of another, and the follow of that user, atomically.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- KEYS[8]  the users that the user blocks: a sorted set, scored by time
-- ARGV[1]  the other user
-- Returns  { the time of the block or nil, the version of the exclusions or nil, { 'following', 'requested' or '', the
--          time or '', 1 if withheld, else 0 } }
local follows = follows_at(1)
local version = redis.call('HGET', follows.sessions, 'exclusions')
return { redis.call('ZSCORE', KEYS[8], ARGV[1]), version, { follow_of(follows, ARGV[1]) } }
