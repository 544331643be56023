-- Blocks a user, and ends the follow of that user, or the request to follow them. A repeated block keeps its time.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- KEYS[8]  the users that the user blocks: a sorted set, scored by time
-- ARGV[1]  the blocked user      ARGV[2]  the current time      ARGV[3]  the maximum number of blocks
-- Returns  { the time of the block, the version of the exclusions }; nil if the user has reached the limit
local follows = follows_at(1)
local since = redis.call('ZSCORE', KEYS[8], ARGV[1])
if not since and redis.call('ZCARD', KEYS[8]) >= tonumber(ARGV[3]) then return nil end
end_follow(follows, ARGV[1])
if since then
  return { since, redis.call('HGET', follows.sessions, 'exclusions') or raise_exclusions(follows.sessions) }
end
redis.call('ZADD', KEYS[8], ARGV[2], ARGV[1])
signal(KEYS[8], 'relation ' .. ARGV[1])
reset(follows.timeline, follows.removed)
return { ARGV[2], raise_exclusions(follows.sessions) }
