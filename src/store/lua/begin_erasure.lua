-- Begins to erase an account whose user has deleted it, unless that was cancelled. From now on, it cannot be cancelled.
-- Idempotent.
-- KEYS[1]  the user's record
-- ARGV[1]  the current time
-- Returns  the username if the account is to be erased, else nil
local record = redis.call('HMGET', KEYS[1], 'deletion', 'erasing', 'inactive_username')
if not record[3] then return nil end
if not record[2] and (not record[1] or tonumber(record[1]) > tonumber(ARGV[1])) then return nil end
redis.call('HSET', KEYS[1], 'erasing', 1)
return record[3]
