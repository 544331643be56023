-- Part of the scripts that draw on buckets. The algorithm is GCRA, the generic cell rate algorithm (ITU-T I.371,
-- Annex A): of a bucket is kept the time at which it will be full again, in microseconds. One that is full is not kept.

-- For how long a bucket is kept when it is full, in milliseconds: for a server whose clock is behind.
local SLACK = 60000

-- Draws `cost` on a bucket of `capacity`, of which one comes back in `interval` microseconds.
-- Returns how many microseconds are to be waited until there is enough, 0 if it was drawn; and how many until it is full.
local function draw(key, now, interval, capacity, cost)
  now = tonumber(now) * 1000
  local full = math.max(tonumber(redis.call('GET', key) or now), now)
  local after = full + cost * interval
  local wait = after - now - capacity * interval
  if wait > 0 then return wait, full - now end
  local life = math.ceil((after - now) / 1000) + SLACK
  redis.call('SET', key, string.format('%.0f', after), 'PX', string.format('%.0f', life))
  return 0, after - now
end
