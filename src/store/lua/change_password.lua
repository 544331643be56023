-- Changes a password and ends all sessions but one, if the password is still the one verified.
-- KEYS[1]  the secret      KEYS[2]  the sessions
-- ARGV[1]  the password hash that was verified     ARGV[2]  the new one
-- ARGV[3]  the field of the session to keep
-- Returns  1 if changed, 0 if the password has changed meanwhile
local held = redis.call('HGET', KEYS[1], 'password')
if held ~= ARGV[1] and held ~= ARGV[2] then return 0 end
local kept = redis.call('HGET', KEYS[2], ARGV[3])
redis.call('HSET', KEYS[1], 'password', ARGV[2])
redis.call('DEL', KEYS[2])
if kept then redis.call('HSET', KEYS[2], ARGV[3], kept) end
tell(KEYS[2], 'sessions')
return 1
