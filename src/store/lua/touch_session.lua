-- Updates a session after use, unless it was ended or touched in the meantime.
-- KEYS[1]  the sessions
-- ARGV[1]  the session's field   ARGV[2]  its value as read   ARGV[3]  its new value
-- Returns  1 if written, else 0
if redis.call('HGET', KEYS[1], ARGV[1]) ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[1], ARGV[1], ARGV[3])
return 1
