-- Reads a page of the listed entries of the posts that refer to another post, and the limited entries next to its
-- position. `store::referrer` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the record of the post referred to      KEYS[2]  the listed entries: a list
-- KEYS[3?] the limited entries: a list, unless none are to be read
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- ARGV[4]  maximum number of limited entries; one more is returned if there are more
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, the limited entries in list order, separated by
--          spaces }, or nil if the post has no record
if redis.call('HEXISTS', KEYS[1], 'author') == 0 then return nil end
local from = tonumber(ARGV[3])
local length = redis.call('LLEN', KEYS[2])
local ids, first, last = page(KEYS[2], length, ARGV[1], tonumber(ARGV[2]), from)
local limited = {}
if KEYS[3] then limited = page(KEYS[3], redis.call('LLEN', KEYS[3]), ARGV[1], tonumber(ARGV[4]) + 1, from) end
return { first > 0 and 1 or 0, last + 1 < length and 1 or 0, ids, table.concat(limited, ' ') }
