-- Returns a user's use of an invite, unless the user is known to exist.
-- KEYS[1]  the users of the invite     KEYS[2]  those of them who may not exist
-- ARGV[1]  the user, whose id is revoked
-- Returns  1 if the use was returned
if redis.call('ZREM', KEYS[2], ARGV[1]) == 0 then return 0 end
return redis.call('ZREM', KEYS[1], ARGV[1])
