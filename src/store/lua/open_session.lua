-- Opens a session, if the account is active and the password has not changed since it was verified. A moderator's
-- recovery code is revoked then.
-- KEYS[1]  the secret      KEYS[2]  the sessions      KEYS[3]  the user's record      KEYS[4]  the recovery code
-- ARGV[1]  the password hash that was verified
-- ARGV[2]  the session's field         ARGV[3]  its value
-- ARGV[4]  '1' to end all other sessions
-- ARGV[5…] fields of sessions to end
-- Returns  { 'open', the version of the exclusions or nil }; { 'changed' } if the password has changed meanwhile; or
--          { 'suspended' }, { 'deletion' } or { 'erasing' } if the account is inactive
if redis.call('HGET', KEYS[1], 'password') ~= ARGV[1] then return { 'changed', false } end
local record = redis.call('HMGET', KEYS[3], 'suspended', 'deletion', 'erasing')
if record[3] then return { 'erasing', false } end
if record[1] then return { 'suspended', false } end
if record[2] then return { 'deletion', false } end
if ARGV[4] == '1' then end_all(KEYS[2])
elseif #ARGV > 4 then redis.call('HDEL', KEYS[2], unpack(ARGV, 5)) end
if ARGV[4] == '1' or #ARGV > 4 then signal(KEYS[2], 'sessions') end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
revoke_of_moderator(KEYS[4])
return { 'open', redis.call('HGET', KEYS[2], 'exclusions') }
