-- Shared part of the scripts that number the stars, in the order in which they became stars.

local function last_number(key)
  return tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]) or 0
end
