-- Removes a reason for which an account is inactive. Without another reason, the account becomes active. Idempotent.
-- KEYS[1]  the user's record
-- ARGV[1]  the reason: 'suspended' or 'deletion'
-- Returns  1 if the account had been inactive for this reason, else 0
if redis.call('HEXISTS', KEYS[1], 'erasing') == 1 then return 0 end
local removed = redis.call('HDEL', KEYS[1], ARGV[1])
local left = redis.call('HMGET', KEYS[1], 'suspended', 'deletion', 'inactive_username')
if left[3] and not left[1] and not left[2] then
  redis.call('HSET', KEYS[1], 'username', left[3])
  redis.call('HDEL', KEYS[1], 'inactive_username')
end
return removed
