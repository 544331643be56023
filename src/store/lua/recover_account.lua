-- Sets a user's password with a recovery code, which is used up, and ends all of the user's sessions. Idempotent.
-- KEYS[1]  the user's record      KEYS[2]  the secret      KEYS[3]  the sessions      KEYS[4]  the recovery code
-- ARGV[1]  the code's hash        ARGV[2]  the current time        ARGV[3]  the new password hash
-- Returns  1 if the password is set; 0 if there is no such code, if it is not valid now, or if the account can have
--          none
-- A session that was opened with the new password stays if this call is repeated.
if redis.call('HGET', KEYS[2], 'password') == ARGV[3] then return 1 end
local code = redis.call('HMGET', KEYS[4], 'code', 'issuer', 'valid_from', 'expires_at')
if code[1] ~= ARGV[1] then return 0 end
local now = tonumber(ARGV[2])
if now < tonumber(code[3]) or now >= tonumber(code[4]) then return 0 end
local record = redis.call('HMGET', KEYS[1], 'username', 'moderator')
if not record[1] or (record[2] == '1' and code[2] ~= 'operator') then return 0 end
if redis.call('HEXISTS', KEYS[2], 'subject') == 1 then return 0 end
redis.call('HSET', KEYS[2], 'password', ARGV[3])
if end_all(KEYS[3]) > 0 then signal(KEYS[3], 'sessions') end
revoke_recovery(KEYS[4])
return 1
