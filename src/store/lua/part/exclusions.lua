-- Shared part of the scripts that change a user's exclusions. The version grows even if the clock goes back. Sessions
-- and version are in one hash, so that authentication reads both with one command.

local function raise_exclusions(sessions)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local last = tonumber(redis.call('HGET', sessions, 'exclusions') or 0)
  local version = string.format('%.0f', math.max(now, last + 1))
  redis.call('HSET', sessions, 'exclusions', version)
  return version
end
