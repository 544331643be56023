-- Shared part of the scripts that keep the creation times of an author's hot posts: a list parallel to the list of
-- posts. An element is the time, times 1024, plus the last ten bits of the post's id, by which a list that does not
-- belong to the posts is recognized: an earlier version changes the posts without the times. The times are then unknown
-- until a server writes them again.
--
-- Ids and times grow together, except for the differences between the clocks of servers, which are less than a day. A
-- search therefore examines only the posts created up to a day before and after its period.
local SKEW = 86400000
local CHUNK = 64

-- Number of times examined so far.
local examined = 0

local function element(id, time) return string.format('%.0f', time * 1024 + id % 1024) end

local function time_of(value) return math.floor(tonumber(value) / 1024) end

-- Returns true if every post has its time.
local function is_timed(posts, times)
  local length = redis.call('LLEN', posts)
  if length ~= redis.call('LLEN', times) then return false end
  local function belongs(at)
    return redis.call('LINDEX', posts, at) % 1024 == redis.call('LINDEX', times, at) % 1024
  end
  return length == 0 or belongs(0) and belongs(-1)
end

-- Inserts the time of a post at an index.
local function insert_time(times, at, id, time) insert_at(times, at, element(id, time)) end

-- Visits the times from index `at` to index `to`, with a step of 1 or -1, until `visit` returns true for an index and
-- its time.
local function visit_times(times, at, to, step, visit)
  while (to - at) * step >= 0 do
    local upto = step == 1 and math.min(at + CHUNK - 1, to) or math.max(at - CHUNK + 1, to)
    local low = math.min(at, upto)
    local values = redis.call('LRANGE', times, low, math.max(at, upto))
    for index = at, upto, step do
      examined = examined + 1
      if visit(index, time_of(values[index - low + 1])) then return end
    end
    at = upto + step
  end
end

-- Returns the first index of the posts that may be in a period, and the index after the last. `since` is inclusive,
-- `till` exclusive; either may be nil.
local function range_of(times, length, since, till)
  local function time_at(index)
    examined = examined + 1
    return time_of(redis.call('LINDEX', times, index))
  end
  local first, last = 0, length
  local high = length
  while till and first < high do
    local middle = math.floor((first + high) / 2)
    if time_at(middle) >= till + SKEW then first = middle + 1 else high = middle end
  end
  local low = first
  while since and low < last do
    local middle = math.floor((low + last) / 2)
    if time_at(middle) < since - SKEW then last = middle else low = middle + 1 end
  end
  return first, last
end

-- Returns a function that returns true for times in a period.
local function period(since, till)
  return function(time) return (not since or time >= since) and (not till or time < till) end
end
