-- Shared part of the scripts that revoke ids in a slot: a sorted set of what must never be created, scored by time.

-- Records `what`, and drops records older than `life` milliseconds.
local function record(key, what, now, life)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', tonumber(now) - tonumber(life)))
  redis.call('ZADD', key, now, what)
  redis.call('PEXPIRE', key, life)
end
