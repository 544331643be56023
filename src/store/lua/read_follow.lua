-- Reads a user's follow of another atomically. A user whose account is inactive has no follows that others see.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- KEYS[8]  the user's record
-- ARGV[1]  the other user
-- Returns  { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }
if redis.call('HEXISTS', KEYS[8], 'inactive_username') == 1 then return { '', '', 0 } end
return { follow_of(follows_at(1), ARGV[1]) }
