-- Withholds a user's follow of another, or the request to follow them, or puts it back into its list. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- ARGV[1]  the other user      ARGV[2]  1 to withhold, 0 to put back
-- Returns  { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }: the follow after the change
local follows = follows_at(1)
local state, at, withheld = follow_of(follows, ARGV[1])
if state == '' or withheld == tonumber(ARGV[2]) then return { state, at, withheld } end
local list = state == 'following' and follows.following or follows.requesting
if withheld == 1 then
  redis.call('ZREM', follows.withheld, state .. ':' .. ARGV[1])
  if state == 'following' then begin_follow(follows, ARGV[1], at)
  else redis.call('ZADD', list, at, ARGV[1]) end
else
  redis.call('ZREM', list, ARGV[1])
  end_await(follows.merging, ARGV[1])
  redis.call('ZADD', follows.withheld, at, state .. ':' .. ARGV[1])
end
if state == 'requested' then raise_exclusions(follows.sessions) end
signal(follows.following, 'relation ' .. ARGV[1])
return { state, at, 1 - withheld }
