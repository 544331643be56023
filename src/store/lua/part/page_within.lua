-- Shared part of the script that reads pages: the pages of a period.

-- Returns a page of the posts in a period, like `page`, and true if posts of the period precede it and follow it in the
-- list. Returns nil if the times are unknown.
local function page_within(posts, times, direction, size, from, since, till)
  if not is_timed(posts, times) then return nil end
  local length = redis.call('LLEN', posts)
  local first, last = range_of(times, length, since, till)
  local is_within = period(since, till)
  local is_forward = direction == 'forward'
  -- The number of posts before the position.
  local before = is_forward and 0 or length
  if from then before = count_above(posts, length, is_forward and from - 1 or from) end

  local found, goes_on, is_behind = {}, false, false
  local function collect(index, time)
    if not is_within(time) then return false end
    goes_on = #found == size
    if not goes_on then found[#found + 1] = index end
    return goes_on
  end
  local function note(_, time)
    is_behind = is_within(time)
    return is_behind
  end
  local above, below = math.min(last, before) - 1, math.max(first, before)
  if is_forward then
    visit_times(times, below, last - 1, 1, collect)
    visit_times(times, above, first, -1, note)
  else
    visit_times(times, above, first, -1, collect)
    visit_times(times, below, last - 1, 1, note)
  end

  local ids = {}
  if #found > 0 then
    local low, high = math.min(found[1], found[#found]), math.max(found[1], found[#found])
    local range = redis.call('LRANGE', posts, low, high)
    for number, index in ipairs(found) do
      ids[is_forward and number or #found + 1 - number] = range[index - low + 1]
    end
  end
  if is_forward then return ids, is_behind, goes_on end
  return ids, goes_on, is_behind
end
