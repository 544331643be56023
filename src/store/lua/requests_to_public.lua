-- Reads the users who have requested to follow a user with a public account, whose requests are to be accepted.
-- KEYS[1]  the user's record      KEYS[2]  those who have requested to follow the user: a sorted set, scored by time
-- ARGV[1]  the maximum number of users
-- Returns  the users, oldest request first; nil if the account is private or inactive
local record = redis.call('HMGET', KEYS[1], 'private', 'inactive_username')
if record[1] == '1' or record[2] then return nil end
return redis.call('ZRANGE', KEYS[2], 0, tonumber(ARGV[1]) - 1)
