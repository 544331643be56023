-- Replaces a user of an invite by an anonymous use, so that the invite does not admit another user. Idempotent.
-- KEYS[1]  the users of the invite     KEYS[2]  those of them who may not exist
-- ARGV[1]  the user, who exists no more      ARGV[2]  a member that no other use of the invite has
-- Returns  1 if the user had used the invite
redis.call('ZREM', KEYS[2], ARGV[1])
local used_at = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not used_at then return 0 end
redis.call('ZREM', KEYS[1], ARGV[1])
redis.call('ZADD', KEYS[1], used_at, ARGV[2])
return 1
