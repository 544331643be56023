-- Shared part of the scripts that change or read an ordered compact set of posts, see `store::ordered`: its order is in
-- descending order of time, and of id among posts of the same time. A set without a tree has a sorted set by time, and
-- one with a tree two parallel lists, of the newest 5,000 posts and of their times. An element that is no number is
-- left out by readers, and takes the place of its neighbor in searches of the lists.

local ORDERED = 5000

-- Returns true if the entry at an index comes before this entry; nil if it cannot be read.
local function comes_before(set, index, time, post)
  local other = tonumber(redis.call('LINDEX', set.times, index))
  if other and other ~= time then return other > time end
  local id = other and tonumber(redis.call('LINDEX', set.posts, index))
  return id and id > post
end

-- Counts the entries that come before this entry, whether or not the lists contain it.
local function count_before(set, time, post)
  local low, high = 0, redis.call('LLEN', set.posts)
  if high == 0 or comes_before(set, 0, time, post) == false then return 0 end
  while low < high do
    local middle = math.floor((low + high) / 2)
    local index, is_before = middle, comes_before(set, middle, time, post)
    while is_before == nil and index + 1 < high do
      index = index + 1
      is_before = comes_before(set, index, time, post)
    end
    if is_before then low = index + 1 else high = middle end
  end
  return low
end

-- The order of a set with a tree. Members are found in the tree.
local LISTS = {
  length = function(set) return redis.call('LLEN', set.posts) end,
  count_before = count_before,
}

-- Returns the posts and the times from one index to another.
function LISTS.range(set, first, last)
  return redis.call('LRANGE', set.posts, first, last), redis.call('LRANGE', set.times, first, last)
end

function LISTS.add(set, post, at)
  local time, id = tonumber(at), tonumber(post)
  if redis.call('LLEN', set.posts) >= ORDERED then
    if comes_before(set, -1, time, id) then return end
    redis.call('RPOP', set.posts)
    redis.call('RPOP', set.times)
  end
  local index = count_before(set, time, id)
  insert_at(set.posts, index, post)
  insert_at(set.times, index, at)
end

function LISTS.remove(set, post)
  local index = redis.call('LPOS', set.posts, post)
  if not index then return 0 end
  local from = index < redis.call('LLEN', set.posts) / 2 and 1 or -1
  remove_at(set.posts, index, from)
  if index < redis.call('LLEN', set.times) then remove_at(set.times, index, from) end
  return 1
end

-- The order of a set without a tree, which has few members.
local FEW = {
  length = function(set) return redis.call('ZCARD', set.few) end,
  contains = function(set, post) return redis.call('ZSCORE', set.few, post) ~= false end,
  add = function(set, post, at) redis.call('ZADD', set.few, at, post) end,
  remove = function(set, post) return redis.call('ZREM', set.few, post) end,
}

function FEW.members(set)
  local members = {}
  for _, post in ipairs(redis.call('ZRANGE', set.few, 0, -1)) do
    if tonumber(post) then members[#members + 1] = post end
  end
  return members
end

-- Returns all entries in order.
local function entries_of_few(set)
  local flat, entries = redis.call('ZRANGE', set.few, 0, -1, 'WITHSCORES'), {}
  for index = 1, #flat, 2 do
    local post, at = flat[index], flat[index + 1]
    entries[#entries + 1] = { post = post, at = at, id = tonumber(post) or -1, time = tonumber(at) }
  end
  table.sort(entries, function(one, other)
    if one.time ~= other.time then return one.time > other.time end
    return one.id > other.id
  end)
  return entries
end

function FEW.count_before(set, time, post)
  local count = 0
  for _, entry in ipairs(entries_of_few(set)) do
    if entry.time > time or (entry.time == time and entry.id > post) then count = count + 1 end
  end
  return count
end

function FEW.range(set, first, last)
  local entries, posts, times = entries_of_few(set), {}, {}
  for index = first + 1, math.min(last + 1, #entries) do
    posts[#posts + 1], times[#times + 1] = entries[index].post, entries[index].at
  end
  return posts, times
end

-- Replaces the sorted set by the lists, because the set gets a tree. Returns the new order.
function FEW.grow(set)
  for _, entry in ipairs(entries_of_few(set)) do
    redis.call('RPUSH', set.posts, entry.post)
    redis.call('RPUSH', set.times, entry.at)
  end
  redis.call('DEL', set.few)
  return LISTS
end

-- Returns the set with these keys: the sorted set, the posts, their times, the number of members, and the path of a
-- member. Scripts that only look members up omit the posts and their times.
local function ordered_set_of(few, posts, times, count, path)
  local order = redis.call('EXISTS', count) == 1 and LISTS or FEW
  return { order = order, few = few, posts = posts, times = times, count = count, path = path }
end
