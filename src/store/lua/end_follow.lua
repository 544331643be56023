-- Ends a user's follow of another, or the request to follow them. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the sessions, which have the version of the exclusions
-- ARGV[1]  the other user      ARGV[2]  1 to end only a request, else 0
-- Returns  { { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }: the follow after the change, the
--          version of the exclusions or nil }
local follows = follows_at(1)
if ARGV[2] ~= '1' or follow_of(follows, ARGV[1]) == 'requested' then end_follow(follows, ARGV[1]) end
return { { follow_of(follows, ARGV[1]) }, redis.call('HGET', follows.sessions, 'exclusions') }
