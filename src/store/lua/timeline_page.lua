-- Reads a page of a stored timeline.
-- KEYS[1]  the timeline
-- ARGV[1]  its nonce, or '' for any
-- ARGV[2]  'forward' or 'backward'     ARGV[3]  size
-- ARGV[4]  the post below or above which the page lies, or '' for the first or the last page
-- Returns  { floor, { the page } }, or nil if the timeline does not exist or has another nonce
local seal = read_seal(KEYS[1])
if not seal or (ARGV[1] ~= '' and seal.nonce ~= ARGV[1]) then return nil end
local length = redis.call('LLEN', KEYS[1]) - 1
local ids = page(KEYS[1], length, ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]))
return { string.format('%.0f', seal.floor), ids }
