-- Reads the stars and the watermark, up to which every post is visible or never will be.
-- KEYS[1]  the last id issued      KEYS[2]  posts being published: a sorted set, scored by id
-- KEYS[3]  the stars: a set        KEYS[4]  the version of that set
-- ARGV[1]  the known version
-- Returns  { the watermark, the current version, { the stars } or nil if the known version is current }
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local mark = first[2] and string.format('%.0f', first[2] - 1) or redis.call('GET', KEYS[1]) or '0'
local version = redis.call('GET', KEYS[4]) or ''
if version == ARGV[1] then return { mark, version } end
return { mark, version, redis.call('SMEMBERS', KEYS[3]) }
