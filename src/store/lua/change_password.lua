-- Changes a password, if it has not changed since it was verified. The requesting session continues under another
-- token; all other sessions end, and a moderator's recovery code is revoked. Idempotent.
-- KEYS[1]  the secret      KEYS[2]  the sessions      KEYS[3]  the recovery code
-- ARGV[1]  the password hash that was verified     ARGV[2]  the new password hash
-- ARGV[3]  the field of the requesting session     ARGV[4]  its new field
-- Returns  1 if changed, 0 if the password has changed meanwhile, -1 if the session has ended
local held = redis.call('HGET', KEYS[1], 'password')
if held == ARGV[2] and redis.call('HEXISTS', KEYS[2], ARGV[4]) == 1 then return 1 end
if held ~= ARGV[1] then return 0 end
local session = redis.call('HGET', KEYS[2], ARGV[3])
if not session then return -1 end
redis.call('HSET', KEYS[1], 'password', ARGV[2])
end_all(KEYS[2])
redis.call('HSET', KEYS[2], ARGV[4], session)
signal(KEYS[2], 'sessions')
revoke_of_moderator(KEYS[3])
return 1
