-- Shared part of the scripts that change a user's exclusions. The version grows even if the clock goes back. Sessions
-- and version are in one hash, so that authentication reads both with one command.

local function raise_exclusions(sessions)
  local last = tonumber(redis.call('HGET', sessions, 'exclusions') or 0)
  local version = string.format('%.0f', math.max(clock(), last + 1))
  redis.call('HSET', sessions, 'exclusions', version)
  return version
end
