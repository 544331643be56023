-- Reads a page of a list of the posts that refer to another post.
-- `store::referrer` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the record of the post referred to      KEYS[2]  the list: a list
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts } }, or nil if the post has no record
if redis.call('HEXISTS', KEYS[1], 'author') == 0 then return nil end
local length = redis.call('LLEN', KEYS[2])
local ids, first, last = page(KEYS[2], length, ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, ids }
