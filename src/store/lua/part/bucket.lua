-- Shared part of the scripts that take tokens from buckets. The algorithm is GCRA, the generic cell rate algorithm
-- (ITU-T I.371, Annex A): a bucket is stored as the time at which it will be full again, in microseconds. A full bucket
-- need not be stored.

-- Time after which a full bucket expires, in milliseconds. Allows for servers whose clocks are behind.
local SLACK = 60000

-- Takes `cost` tokens from a bucket of `capacity` tokens, of which one is refilled every `interval` microseconds.
-- Returns the microseconds until the bucket has enough tokens (0 if they were taken), and the microseconds until it is
-- full.
local function take_tokens(key, now, interval, capacity, cost)
  now = tonumber(now) * 1000
  local full = math.max(tonumber(redis.call('GET', key) or now), now)
  local after = full + cost * interval
  local wait = after - now - capacity * interval
  if wait > 0 then return wait, full - now end
  local life = math.ceil((after - now) / 1000) + SLACK
  redis.call('SET', key, string.format('%.0f', after), 'PX', string.format('%.0f', life))
  return 0, after - now
end
