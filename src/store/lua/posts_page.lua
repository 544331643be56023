-- A page of an author's posts, as far as they are in the list, and what became cold of them.
-- KEYS[1]  the posts: a list      KEYS[2]  what became cold: a hash
-- KEYS[3]  deleted posts that the archive may still have: a sorted set
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, the greatest that became cold or 0,
--            how many became cold and were not deleted, { those of the deleted that may have } }
local length = redis.call('LLEN', KEYS[1])
local ids, first, last = page(KEYS[1], length, ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
local cold = redis.call('HMGET', KEYS[2], 'greatest', 'count')
local count = string.format('%.0f', math.max(0, tonumber(cold[2]) or 0))
local gone = {}
if cold[1] then gone = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', cold[1]) end
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, ids, cold[1] or '0', count, gone }
