-- Shared part of the scripts that read or change a user's follows. A user follows another, has requested to, or
-- neither: at most one of two sorted sets, both scored by time, contains the other user. While the other's account is
-- inactive, the follow or request is *withheld*: neither list contains the other user, but a third sorted set contains
-- `following:9` or `requested:9`, scored by the same time. Requests are read with the exclusions, so their changes
-- raise the version.

-- Returns the keys of a user's follows, which a script has one after the other.
local function follows_at(first)
  return {
    following = KEYS[first],
    requesting = KEYS[first + 1],
    withheld = KEYS[first + 2],
    merging = KEYS[first + 3],
    sessions = KEYS[first + 4],
    timeline = KEYS[first + 5],
    removed = KEYS[first + 6],
  }
end

-- Returns the state, 'following', 'requested' or ''; its time or ''; and 1 if it is withheld, else 0.
local function follow_of(follows, member)
  local at = redis.call('ZSCORE', follows.following, member)
  if at then return 'following', at, 0 end
  at = redis.call('ZSCORE', follows.requesting, member)
  if at then return 'requested', at, 0 end
  at = redis.call('ZSCORE', follows.withheld, 'following:' .. member)
  if at then return 'following', at, 1 end
  at = redis.call('ZSCORE', follows.withheld, 'requested:' .. member)
  if at then return 'requested', at, 1 end
  return '', '', 0
end

-- Adds a follow to the list.
local function begin_follow(follows, member, at)
  redis.call('ZADD', follows.following, at, member)
  await_merge(follows.timeline, follows.merging, member, at)
end

-- Ends a follow or a request. Returns true if there was one.
local function end_follow(follows, member)
  end_await(follows.merging, member)
  local was_requested = redis.call('ZREM', follows.requesting, member) == 1
  if was_requested then raise_exclusions(follows.sessions) end
  if redis.call('ZREM', follows.following, member) == 0 and not was_requested then
    return redis.call('ZREM', follows.withheld, 'following:' .. member, 'requested:' .. member) > 0
  end
  signal(follows.following, 'relation ' .. member)
  return true
end

-- Turns a request into a follow.
local function accept_request(follows, member, at)
  if redis.call('ZREM', follows.requesting, member) == 0 then
    redis.call('ZREM', follows.withheld, 'requested:' .. member)
    redis.call('ZADD', follows.withheld, at, 'following:' .. member)
    return
  end
  begin_follow(follows, member, at)
  raise_exclusions(follows.sessions)
  signal(follows.following, 'relation ' .. member)
end
