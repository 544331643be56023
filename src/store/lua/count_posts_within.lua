-- Counts an author's hot posts in a period, and returns what is needed to count the cold ones.
-- `store::post_list` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- KEYS[3]  deleted posts that may still be in the archive: a sorted set      KEYS[4]  the posts' creation times: a list
-- KEYS[5]  those of the posts that only followers can see: a sorted set by creation time
-- ARGV[1]  the period's first millisecond or ''     ARGV[2]  the first millisecond after the period or ''
-- ARGV[3]  1 to leave out the posts that only followers can see
-- Returns  { the number of times examined, the number of hot posts, the greatest cold post or 0 if no cold post is in
--            the period, { posts that may be in the archive although they are hot or deleted }, 0 if everyone can see
--            all cold posts, else 1 }; nil if the times are unknown
if not is_timed(KEYS[1], KEYS[4]) then return nil end
local since, till = tonumber(ARGV[1]), tonumber(ARGV[2])
local length = redis.call('LLEN', KEYS[1])
local first, last = range_of(KEYS[4], length, since, till)
local is_within = period(since, till)

-- Only the posts at both ends of the range have to be examined: all between them are in the period.
local count, front, back = 0, last, last - 1
visit_times(KEYS[4], first, last - 1, 1, function(index, time)
  if not till or time < till - SKEW then
    front = index
    return true
  end
  if is_within(time) then count = count + 1 end
end)
visit_times(KEYS[4], last - 1, front, -1, function(index, time)
  back = index
  if not since or time >= since + SKEW then return true end
  if is_within(time) then count = count + 1 end
  back = index - 1
end)
count = count + math.max(0, back - front + 1)
if ARGV[3] == '1' then
  count = count - redis.call('ZCOUNT', KEYS[5], since and ARGV[1] or '-inf', till and '(' .. ARGV[2] or '+inf')
end

local cold = redis.call('HMGET', KEYS[2], 'greatest', 'latest', 'limited')
local greatest = tonumber(cold[1]) or 0
if since and cold[2] and tonumber(cold[2]) < since then greatest = 0 end
local excluded = {}
if greatest > 0 then
  excluded = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', cold[1])
  -- The list may still have posts that are already in the archive.
  local at = count_above(KEYS[1], length, greatest)
  for _, id in ipairs(redis.call('LRANGE', KEYS[1], at, -1)) do excluded[#excluded + 1] = id end
end
local has_limited = cold[3] and cold[3] ~= '0'
return { examined, math.max(0, count), string.format('%.0f', greatest), excluded, has_limited and 1 or 0 }
