-- Reads everybody whom a user follows and who follows back, unless the user follows more than may be walked.
-- KEYS[1]  following    KEYS[2]  followers
-- ARGV[1]  how many may be walked
-- Returns  how many the user follows; and if these are not too many, the mutuals with the times of the user's follows,
--          oldest first
local count = redis.call('ZCARD', KEYS[1])
if count > tonumber(ARGV[1]) then return { count, {} } end
return { count, redis.call('ZINTER', 2, KEYS[1], KEYS[2], 'WEIGHTS', 1, 0, 'WITHSCORES') }
