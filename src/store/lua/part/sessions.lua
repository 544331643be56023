-- Shared part of the scripts that end all of a user's sessions. The hash also has the version of the user's exclusions,
-- which stays.

local function end_all(sessions)
  local version = redis.call('HGET', sessions, 'exclusions')
  local ended = redis.call('HLEN', sessions)
  redis.call('DEL', sessions)
  if not version then return ended end
  redis.call('HSET', sessions, 'exclusions', version)
  return ended - 1
end
