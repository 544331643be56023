-- Blocks a user, and ends the follow of that user, or the request to follow them. A repeated block keeps its time.
-- KEYS[1]  the users that the user blocks: a sorted set, scored by time
-- KEYS[2]  the sessions, which have the version of the exclusions
-- KEYS[3]  the users that the user follows: a sorted set, scored by time      KEYS[4]  the users that the user has
--          requested to follow: the same
-- ARGV[1]  the blocked user      ARGV[2]  the current time      ARGV[3]  the maximum number of blocks
-- Returns  { the time of the block, the version of the exclusions }; nil if the user has reached the limit
local since = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not since and redis.call('ZCARD', KEYS[1]) >= tonumber(ARGV[3]) then return nil end
end_follow(KEYS[3], KEYS[4], KEYS[2], ARGV[1])
if since then return { since, redis.call('HGET', KEYS[2], 'exclusions') or raise_exclusions(KEYS[2]) } end
redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1])
signal(KEYS[1], 'relation ' .. ARGV[1])
return { ARGV[2], raise_exclusions(KEYS[2]) }
