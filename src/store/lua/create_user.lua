-- Creates a user's record, with its password, subject and first session if given, unless the id was revoked.
-- KEYS[1]  the record      KEYS[2]  the revoked items
-- KEYS[3]  the secret      KEYS[4]  the sessions
-- ARGV[1]  the number of arguments of the record that follow
-- ARGV[2…] field, value, … of the record; then the password hash and the subject ('' for
--          none); then the session's field and value, or nothing
-- Returns  1 if the record exists now, 0 if the id cannot be used: it was revoked, or is in use (an id
--          counter may go back when Redis fails over)
if redis.call('ZSCORE', KEYS[2], 'user') then return 0 end
local fields = tonumber(ARGV[1])
local record = {}
for i = 2, fields, 2 do record[ARGV[i]] = ARGV[i + 1] end
local there = redis.call('HMGET', KEYS[1], 'username', 'inactive_username')
if there[2] or (there[1] and there[1] ~= record['username']) then return 0 end
redis.call('HSET', KEYS[1], unpack(ARGV, 2, fields + 1))
local password, subject, session, value = ARGV[fields + 2], ARGV[fields + 3], ARGV[fields + 4], ARGV[fields + 5]
if password ~= '' then redis.call('HSET', KEYS[3], 'password', password) end
if subject ~= '' then redis.call('HSET', KEYS[3], 'subject', subject) end
if session then redis.call('HSET', KEYS[4], session, value) end
return 1
