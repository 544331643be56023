-- Reads a user's follow of another atomically.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same
-- ARGV[1]  the other user
-- Returns  { 'following', 'requested' or '', the time or '' }
return { follow_of(KEYS[1], KEYS[2], ARGV[1]) }
