-- Shared part of the scripts that change or read an ordered compact set of posts, see `store::ordered`: its order is
-- two parallel lists, of the newest 5,000 posts and of their times, in descending order of time, and of id among posts
-- of the same time. An element that is no number is left out by readers, and takes the place of its neighbor in
-- searches.

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

local BY_TIME = {
  length = function(set) return redis.call('LLEN', set.posts) end,
  contains = function(set, post) return redis.call('LPOS', set.posts, post) ~= false end,
}

function BY_TIME.members(set)
  local members = {}
  for _, post in ipairs(redis.call('LRANGE', set.posts, 0, -1)) do
    if tonumber(post) then members[#members + 1] = post end
  end
  return members
end

function BY_TIME.add(set, post, at)
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

function BY_TIME.remove(set, post)
  local index = redis.call('LPOS', set.posts, post)
  if not index then return 0 end
  local from = index < redis.call('LLEN', set.posts) / 2 and 1 or -1
  remove_at(set.posts, index, from)
  if index < redis.call('LLEN', set.times) then remove_at(set.times, index, from) end
  return 1
end

-- Returns the set with these keys: the posts, their times, the number of members, and the path of a member. Scripts
-- that do not need the times omit them.
local function ordered_set_of(posts, times, count, path)
  return { order = BY_TIME, posts = posts, times = times, count = count, path = path }
end
