-- A page of a timeline as it is kept.
-- KEYS[1]  the timeline
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- Returns  { floor, { the page } }, or nil if there is no timeline
local seal = read_seal(KEYS[1])
if not seal then return nil end
local length = redis.call('LLEN', KEYS[1]) - 1
local ids = page(KEYS[1], length, ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]))
return { string.format('%.0f', seal.floor), ids }
