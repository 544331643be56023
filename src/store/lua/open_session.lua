-- Opens a session, if the password has not changed since it was verified.
-- KEYS[1]  the secret      KEYS[2]  the sessions
-- ARGV[1]  the password hash that was verified
-- ARGV[2]  the session's field         ARGV[3]  its value
-- ARGV[4]  '1' to end all other sessions
-- ARGV[5…] fields of sessions to end
-- Returns  1 and the version of the exclusions if the session is open, 0 if the password has changed meanwhile
if redis.call('HGET', KEYS[1], 'password') ~= ARGV[1] then return { 0, false } end
if ARGV[4] == '1' then end_all(KEYS[2])
elseif #ARGV > 4 then redis.call('HDEL', KEYS[2], unpack(ARGV, 5)) end
if ARGV[4] == '1' or #ARGV > 4 then signal(KEYS[2], 'sessions') end
redis.call('HSET', KEYS[2], ARGV[2], ARGV[3])
return { 1, redis.call('HGET', KEYS[2], 'exclusions') }
