-- Reads the posts removed from a timeline.
-- KEYS[1]  the removed posts: a sorted set     KEYS[2]  the timeline
-- ARGV[1]  exclusive lower bound of the time, or '' to read only the current time
-- ARGV[2]  milliseconds for which removals are recorded
-- ARGV[3]  maximum number of posts
-- Returns  { time up to which the result is complete, { post, time, … } }, or nil if records are missing
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or 0
-- More removals may follow within the current millisecond.
local upto = string.format('%.0f', math.max(last, now - 1))
if ARGV[1] == '' then return { upto, {} } end
-- Removals are not recorded while there is no timeline.
if redis.call('EXISTS', KEYS[2]) == 0 then return nil end
local since = tonumber(ARGV[1])
local cut = tonumber(redis.call('ZSCORE', KEYS[1], '0')) or 0
if since < cut or since < now - tonumber(ARGV[2]) then return nil end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
return { upto, found }
