-- Shared part of the scripts that revoke ids in a slot. A sorted set holds the items that must never be created, by
-- time of revocation.

-- Records the item `what`, and drops records older than `life` milliseconds.
local function record(key, what, now, life)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', tonumber(now) - tonumber(life)))
  redis.call('ZADD', key, now, what)
  redis.call('PEXPIRE', key, life)
end
