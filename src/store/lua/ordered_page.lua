-- Reads a page of an ordered compact set, newest first, from a position whose entry need not exist any more.
-- KEYS[1]  the posts of a set without a tree: a sorted set     KEYS[2]  the newest posts of a set with a tree: a list
-- KEYS[3]  their times: a list     KEYS[4]  the number of members
-- ARGV[1]  'forward': the entries after the position; 'backward': those before it
-- ARGV[2]  the maximum number of entries
-- ARGV[3]  the position's time, or '' for the first or the last page     ARGV[4]  the position's post
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, { their times } }
-- Cost     O(page), with a position O(log n) lookups in lists of up to 5,000 elements; without a tree, O(n log n), for
--          up to 128 members
local set = ordered_set_of(KEYS[1], KEYS[2], KEYS[3], KEYS[4])
local size, time, post = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local length = set.order.length(set)
local first, last
if ARGV[1] == 'forward' then
  -- Ids are integers: the entries that do not come before the next entry in the order come after the position.
  first = time and set.order.count_before(set, time, post - 1) or 0
  last = math.min(first + size, length) - 1
else
  last = (time and set.order.count_before(set, time, post) or length) - 1
  first = math.max(0, last + 1 - size)
end
local posts, times = {}, {}
if first <= last then
  posts, times = set.order.range(set, first, last)
end
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, posts, times }
