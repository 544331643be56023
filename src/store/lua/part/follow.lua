-- Shared part of the scripts that read or change a user's follows, which requires `part/signal` and `part/exclusions`.
-- A user follows another, has requested to, or neither: at most one of the two sorted sets, both scored by time,
-- contains the other user. Requests are read with the exclusions, so their changes raise the version.

-- Returns the state, 'following', 'requested' or '', and its time or ''.
local function follow_of(following, requesting, member)
  local at = redis.call('ZSCORE', following, member)
  if at then return 'following', at end
  at = redis.call('ZSCORE', requesting, member)
  if at then return 'requested', at end
  return '', ''
end

-- Ends a follow or a request. Returns true if there was one.
local function end_follow(following, requesting, sessions, member)
  local was_requested = redis.call('ZREM', requesting, member) == 1
  if was_requested then raise_exclusions(sessions) end
  if redis.call('ZREM', following, member) == 0 and not was_requested then return false end
  signal(following, 'relation ' .. member)
  return true
end

-- Turns a request into a follow.
local function accept_request(following, requesting, sessions, member, at)
  redis.call('ZREM', requesting, member)
  redis.call('ZADD', following, at, member)
  raise_exclusions(sessions)
  signal(following, 'relation ' .. member)
end
