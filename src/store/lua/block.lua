-- Blocks a user, and ends the follow of that user, or the request to follow them. A repeated block keeps its time.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the new follows whose posts are still to be merged: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the users that the user blocks: a sorted set, scored by time
-- KEYS[7]  the timeline     KEYS[8]  posts removed from it: a sorted set
-- ARGV[1]  the blocked user      ARGV[2]  the current time      ARGV[3]  the maximum number of blocks
-- Returns  { the time of the block, the version of the exclusions }; nil if the user has reached the limit
local follows = follows_at(1)
local since = redis.call('ZSCORE', KEYS[6], ARGV[1])
if not since and redis.call('ZCARD', KEYS[6]) >= tonumber(ARGV[3]) then return nil end
end_follow(follows, ARGV[1])
if since then return { since, redis.call('HGET', follows.sessions, 'exclusions') or raise_exclusions(follows.sessions) } end
redis.call('ZADD', KEYS[6], ARGV[2], ARGV[1])
signal(KEYS[6], 'relation ' .. ARGV[1])
reset(KEYS[7], KEYS[8])
return { ARGV[2], raise_exclusions(follows.sessions) }
