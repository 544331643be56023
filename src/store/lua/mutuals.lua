-- Reads a user's mutuals, unless the user follows more users than the traversal limit.
-- KEYS[1]  following    KEYS[2]  followers
-- ARGV[1]  the traversal limit
-- Returns  the number of followed users; and, within the limit, the mutuals with the times at which the user followed
--          them, oldest first
local count = redis.call('ZCARD', KEYS[1])
if count > tonumber(ARGV[1]) then return { count, {} } end
return { count, redis.call('ZINTER', 2, KEYS[1], KEYS[2], 'WEIGHTS', 1, 0, 'WITHSCORES') }
