-- Adds a user to a list of another user, changes their time in that list, or removes them from it. Idempotent.
-- KEYS[1]  the list: a sorted set, scored by time
-- ARGV[1]  the user        ARGV[2]  the time, or '' to remove them
-- Returns  1 if the list changed, else 0
local before = redis.call('ZSCORE', KEYS[1], ARGV[1])
if ARGV[2] == '' then redis.call('ZREM', KEYS[1], ARGV[1])
else redis.call('ZADD', KEYS[1], ARGV[2], ARGV[1]) end
if redis.call('ZSCORE', KEYS[1], ARGV[1]) == before then return 0 end
signal(KEYS[1], 'relation ' .. ARGV[1])
return 1
