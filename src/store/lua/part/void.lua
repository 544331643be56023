-- Part of the scripts that note what must never come to be in a slot: a sorted set, scored by time.

-- Notes `what`, and forgets what was noted longer ago than `life` milliseconds.
local function remember(key, what, now, life)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', '(' .. string.format('%.0f', tonumber(now) - tonumber(life)))
  redis.call('ZADD', key, now, what)
  redis.call('PEXPIRE', key, life)
end
