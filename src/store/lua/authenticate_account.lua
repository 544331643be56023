-- Reads what a user who signs in without a session needs, and takes tokens from the user's bucket if the account exists
-- and belongs to the subject.
-- KEYS[1]  the record              KEYS[2]  the secret
-- KEYS[3]  the sessions            KEYS[4]  the bucket
-- ARGV[1]  the subject             ARGV[2]  now, in milliseconds
-- ARGV[3]  refill interval of one token, in microseconds
-- ARGV[4]  capacity                ARGV[5]  number of tokens to take
-- Returns  the username or nil; the subject of the secret or nil; the version of the user's exclusions or nil; and the
--          results of `take_tokens` for the bucket
local username = redis.call('HGET', KEYS[1], 'username')
local subject = redis.call('HGET', KEYS[2], 'subject')
local version = redis.call('HGET', KEYS[3], 'exclusions')
if not username or subject ~= ARGV[1] then return { username, subject, version, 0, 0 } end
local wait, full = take_tokens(KEYS[4], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
return { username, subject, version, wait, full }
