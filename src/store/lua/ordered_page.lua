-- Reads a page of an ordered compact set, newest first, from a position whose entry need not exist any more.
-- KEYS[1]  the newest posts: a list     KEYS[2]  their times: a list
-- ARGV[1]  'forward': the entries after the position; 'backward': those before it
-- ARGV[2]  the maximum number of entries
-- ARGV[3]  the position's time, or '' for the first or the last page     ARGV[4]  the position's post
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, { their times } }
-- Cost     O(page), with a position O(log n) lookups in lists of up to 5,000 elements
local set = ordered_set_of(KEYS[1], KEYS[2])
local size, time, post = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local length = set.order.length(set)
local first, last
if ARGV[1] == 'forward' then
  -- Ids are integers: the entries that do not come before the next entry in the order come after the position.
  first = time and count_before(set, time, post - 1) or 0
  last = math.min(first + size, length) - 1
else
  last = (time and count_before(set, time, post) or length) - 1
  first = math.max(0, last + 1 - size)
end
local posts, times = {}, {}
if first <= last then
  posts, times = redis.call('LRANGE', set.posts, first, last), redis.call('LRANGE', set.times, first, last)
end
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, posts, times }
