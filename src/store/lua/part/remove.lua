-- Shared part of the scripts that remove a post from a timeline and record the removal for clients that display the
-- post. A sorted set holds the posts by time of removal, with distinct times. It keeps the newest thousand removals,
-- each for its lifetime. The score of the member `0` is the time of the latest evicted removal.

local MOST = 1000

local function clock()
  local time = redis.call('TIME')
  return time[1] * 1000 + math.floor(time[2] / 1000)
end

local function note_removal(key, id, lifetime)
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  local now = clock()
  local at = math.max(now, (tonumber(last[2]) or 0) + 1)
  if redis.call('ZADD', key, 'NX', at, id) == 0 then return false end
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - lifetime)
  local excess = redis.call('ZCARD', key) - MOST
  if excess > 1 then
    local gone = redis.call('ZRANGE', key, 0, excess - 1, 'WITHSCORES')
    redis.call('ZREMRANGEBYRANK', key, 0, excess - 1)
    redis.call('ZADD', key, gone[#gone], '0')
  end
  redis.call('PEXPIRE', key, lifetime)
  return true
end

-- Returns 1 if the timeline contained the post. Also records the removal of a post below the floor: the timeline does
-- not contain the post, but a client may display it.
local function remove(timeline, removed, id, lifetime)
  local seal = read_seal(timeline)
  if not seal then return 0 end
  local was_there = redis.call('LREM', timeline, 1, id)
  if was_there == 1 or tonumber(id) < seal.floor then
    if note_removal(removed, id, lifetime) then signal(timeline, 'timeline') end
  end
  return was_there
end
