-- Sets the password of a user, whether or not their account is active, ends all of their sessions, and revokes their
-- recovery code. Idempotent.
-- KEYS[1]  the user's record      KEYS[2]  the secret      KEYS[3]  the sessions      KEYS[4]  the recovery code
-- ARGV[1]  the new password hash
-- Returns  1 if there is such a user
local names = redis.call('HMGET', KEYS[1], 'username', 'inactive_username')
if not names[1] and not names[2] then return 0 end
-- A session that was opened with the new password stays if this call is repeated.
if redis.call('HGET', KEYS[2], 'password') == ARGV[1] then return 1 end
redis.call('HSET', KEYS[2], 'password', ARGV[1])
if end_all(KEYS[3]) > 0 then signal(KEYS[3], 'sessions') end
revoke_recovery(KEYS[4])
return 1
