-- Turns a user's request to follow another into a follow, unless the request has been withdrawn. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- ARGV[1]  the other user      ARGV[2]  the time of the request to accept, or '' for a request of any time
-- ARGV[3]  the current time
-- Returns  { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }: the follow after the change
local follows = follows_at(1)
local state, since, withheld = follow_of(follows, ARGV[1])
if state == 'requested' and (ARGV[2] == '' or tonumber(since) == tonumber(ARGV[2])) then
  accept_request(follows, ARGV[1], ARGV[3])
  return { 'following', ARGV[3], withheld }
end
return { state, since, withheld }
