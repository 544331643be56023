-- Shared part of the scripts that change or read a compact set of users, see `store::compact`: its order is a sorted
-- set of the newest 128 members.

local BY_SCORE = {
  length = function(set) return redis.call('ZCARD', set.newest) end,
  members = function(set) return redis.call('ZRANGE', set.newest, 0, -1) end,
  contains = function(set, member) return redis.call('ZSCORE', set.newest, member) ~= false end,
  remove = function(set, member) return redis.call('ZREM', set.newest, member) end,
}

-- Puts a member among the newest, in the place of the oldest of them if they are full. More elements than `NEWEST`,
-- even for a moment, would make Redis store the sorted set in its larger encoding for good.
function BY_SCORE.add(set, member, at)
  if redis.call('ZCARD', set.newest) >= NEWEST then
    local oldest = redis.call('ZRANGE', set.newest, 0, 0, 'WITHSCORES')
    if tonumber(oldest[2]) > tonumber(at) then return end
    redis.call('ZREM', set.newest, oldest[1])
  end
  redis.call('ZADD', set.newest, at, member)
end

-- Returns the set with these keys: the newest members, the number of members, and the path of a member.
local function compact_set_of(newest, count, path)
  return { order = BY_SCORE, newest = newest, count = count, path = path }
end

-- Returns the set whose keys are KEYS[first], ...: the newest members, the number of members, and the path of a member.
local function compact_set(first)
  return compact_set_of(KEYS[first], KEYS[first + 1], { unpack(KEYS, first + 2) })
end
