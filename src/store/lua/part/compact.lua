-- Shared part of the scripts that change or read a compact set, see `store::compact`: a sorted set of the newest
-- members, and once these are more than a sorted set of 128 elements holds, a tree of all members and their number.

local NEWEST = 128

-- Returns the set whose keys are KEYS[first], ...: the newest members, the number of members, and the path of a member.
local function compact_set(first)
  return { newest = KEYS[first], count = KEYS[first + 1], path = { unpack(KEYS, first + 2) } }
end

local function has_tree(set) return redis.call('EXISTS', set.count) == 1 end

-- Returns true if the set contains a member.
local function is_in_compact(set, member, room)
  if has_tree(set) then return find_in_tree(set.path, member, room) ~= nil end
  return redis.call('ZSCORE', set.newest, member) ~= false
end

-- Puts a member among the newest, in the place of the oldest of them if they are full. More elements than `NEWEST`,
-- even for a moment, would make Redis store the sorted set in its larger encoding for good.
local function add_to_newest(newest, member, at)
  if redis.call('ZCARD', newest) >= NEWEST then
    local oldest = redis.call('ZRANGE', newest, 0, 0, 'WITHSCORES')
    if tonumber(oldest[2]) > tonumber(at) then return end
    redis.call('ZREM', newest, oldest[1])
  end
  redis.call('ZADD', newest, at, member)
end

-- Adds a member; one that the set contains keeps its time. Returns 1 if the set changed, else 0.
local function add_to_compact(set, member, at, room)
  if has_tree(set) then
    if not add_to_tree(set.path, member, room) then return 0 end
    redis.call('INCR', set.count)
  else
    if redis.call('ZSCORE', set.newest, member) then return 0 end
    local count = redis.call('ZCARD', set.newest)
    if count == NEWEST then
      -- The root has room for all of them.
      redis.call('SADD', set.path[1], member, unpack(redis.call('ZRANGE', set.newest, 0, -1)))
      redis.call('SET', set.count, count + 1)
    end
  end
  add_to_newest(set.newest, member, at)
  return 1
end

-- Removes a member. Returns 1 if the set changed, else 0. The newest are not made up for, since the times of all others
-- are not stored.
local function remove_from_compact(set, member, room)
  local was_newest = redis.call('ZREM', set.newest, member)
  if not has_tree(set) then return was_newest end
  if not remove_from_tree(set.path, member, room) then return 0 end
  if redis.call('DECR', set.count) == 0 then redis.call('DEL', set.count) end
  return 1
end
