-- Shared part of the scripts that keep the creation times of an author's hot posts: a list parallel to the list of posts.
-- If the lists differ in length, an earlier version has changed the posts without the times. The times are then unknown
-- until a server writes them anew.

-- Returns true if every post has its time.
local function is_timed(posts, times)
  return redis.call('LLEN', posts) == redis.call('LLEN', times)
end

-- Inserts a time at an index. A list has no such command, and times repeat, so the next element is marked for a moment.
local function insert_time(times, at, time)
  local follower = redis.call('LINDEX', times, at)
  if at == 0 then redis.call('LPUSH', times, time)
  elseif not follower then redis.call('RPUSH', times, time)
  else
    redis.call('LSET', times, at, '-')
    redis.call('LINSERT', times, 'BEFORE', '-', time)
    redis.call('LSET', times, at + 1, follower)
  end
end

-- Removes the time at an index. `from` is 1 if the index is near the front of the list, or -1 if it is near the end.
local function remove_time(times, at, from)
  redis.call('LSET', times, at, '-')
  redis.call('LREM', times, from, '-')
end

-- Returns the posts created in a period, in list order, or nil if the times are unknown. `since` is inclusive, `till`
-- exclusive; either may be nil.
local function posts_within(posts, times, since, till)
  if not is_timed(posts, times) then return nil end
  local ids, within = redis.call('LRANGE', posts, 0, -1), {}
  for index, time in ipairs(redis.call('LRANGE', times, 0, -1)) do
    time = tonumber(time)
    if time and (not since or time >= since) and (not till or time < till) then
      within[#within + 1] = ids[index]
    end
  end
  return within
end
