-- Reads the session of a session token, and takes tokens from the user's bucket unless the session has expired. A
-- client without a session thus uses up none of the user's tokens.
-- KEYS[1]  the sessions            KEYS[2]  the bucket
-- ARGV[1]  the session's field     ARGV[2]  now, in milliseconds
-- ARGV[3]  refill interval of one token, in microseconds
-- ARGV[4]  capacity                ARGV[5]  number of tokens to take
-- Returns  the session or nil; the version of the user's exclusions or nil; and the results of `take_tokens` for the
--          bucket
local found = redis.call('HMGET', KEYS[1], ARGV[1], 'exclusions')
local session, version = found[1], found[2]
local expires = session and string.match(session, '^[^\t]*\t[^\t]*\t[^\t]*\t(%d+)\t')
if not expires or tonumber(expires) <= tonumber(ARGV[2]) then return { session, version, 0, 0 } end
local wait, full = take_tokens(KEYS[2], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
return { session, version, wait, full }
