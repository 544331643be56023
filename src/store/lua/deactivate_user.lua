-- Makes an account inactive, which ends all of its sessions and revokes its recovery code. Others then find no username
-- in the record, as if there were no such user. Idempotent: of two times for the same reason, the earlier one stays.
-- KEYS[1]  the user's record      KEYS[2]  the sessions      KEYS[3]  the recovery code
-- ARGV[1]  the reason: 'suspended' or 'deletion'      ARGV[2]  its time
-- Returns  the username; nil if there is no such user
local username = redis.call('HGET', KEYS[1], 'username')
if username then
  redis.call('HSET', KEYS[1], 'inactive_username', username)
  redis.call('HDEL', KEYS[1], 'username')
else
  username = redis.call('HGET', KEYS[1], 'inactive_username')
end
if not username then return nil end
local known = redis.call('HGET', KEYS[1], ARGV[1])
if not known or tonumber(ARGV[2]) < tonumber(known) then redis.call('HSET', KEYS[1], ARGV[1], ARGV[2]) end
if end_all(KEYS[2]) > 0 then signal(KEYS[2], 'sessions') end
revoke_recovery(KEYS[3])
return username
