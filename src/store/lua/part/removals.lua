-- Shared part of the scripts that record what is removed from a timeline, for clients that display it, or that read
-- such records. A sorted set holds the removed posts by time of removal, with distinct times. It keeps the newest
-- thousand removals, for a day. The score of the member `0` is the time of the latest evicted removal.

local MOST_REMOVALS = 1000
local REMOVALS_MILLIS = 86400000

-- The member that records a reset: that anything may have been removed or added. It is the greatest id, which no post
-- will ever have, so earlier versions, which know no resets, skip it as the removal of a post that they do not find.
local RESET = '9007199254740992'

-- Returns the time up to which all removals are recorded. More may follow within the current millisecond.
local function removed_upto(key)
  local last = tonumber(redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')[2]) or 0
  return math.max(last, clock() - 1)
end

-- Records a removal, after all others. Returns false if it was recorded before; a reset is recorded again.
local function note_removal(key, id)
  local last = redis.call('ZREVRANGE', key, 0, 0, 'WITHSCORES')
  local now = clock()
  local at = math.max(now, (tonumber(last[2]) or 0) + 1)
  if id ~= RESET and redis.call('ZSCORE', key, id) then return false end
  redis.call('ZADD', key, at, id)
  redis.call('ZREMRANGEBYSCORE', key, '-inf', now - REMOVALS_MILLIS)
  local excess = redis.call('ZCARD', key) - MOST_REMOVALS
  if excess > 1 then
    local gone = redis.call('ZRANGE', key, 0, excess - 1, 'WITHSCORES')
    redis.call('ZREMRANGEBYRANK', key, 0, excess - 1)
    redis.call('ZADD', key, gone[#gone], '0')
  end
  redis.call('PEXPIRE', key, REMOVALS_MILLIS)
  return true
end
