-- A page of an author's posts.
-- KEYS[1]  the posts: a list      KEYS[2]  the greatest post that has left it
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, the greatest that has left or 0 }
local length = redis.call('LLEN', KEYS[1])
local ids, first, last = page(KEYS[1], length, ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, ids, redis.call('GET', KEYS[2]) or '0' }
