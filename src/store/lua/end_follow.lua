-- Ends a user's follow of another, or the request to follow them. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- ARGV[1]  the other user      ARGV[2]  1 to end only a request, else 0
-- ARGV[3]  1 if the end of a follow resets the timeline, else 0
-- Returns  { { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }: the follow after the change,
--          the version of the exclusions or nil }
local follows = follows_at(1)
local state, _, withheld = follow_of(follows, ARGV[1])
if ARGV[2] ~= '1' or state == 'requested' then end_follow(follows, ARGV[1]) end
if ARGV[3] == '1' and state == 'following' and withheld == 0 then reset(follows.timeline, follows.removed) end
return { { follow_of(follows, ARGV[1]) }, redis.call('HGET', follows.sessions, 'exclusions') }
