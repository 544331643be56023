-- Shared part of the scripts that need the time: that of the Redis server, in milliseconds.

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end
