-- What was taken out of a timeline.
-- KEYS[1]  what was taken out: a sorted set     KEYS[2]  the timeline
-- ARGV[1]  after when, or '' for now       ARGV[2]  milliseconds for which it is remembered
-- ARGV[3]  at most so many
-- Returns  { up to when this is, { post, when, … } }, or nil if not all of it is remembered
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
local last = tonumber(redis.call('ZREVRANGE', KEYS[1], 0, 0, 'WITHSCORES')[2]) or 0
-- In this very millisecond there may be more to come.
local upto = string.format('%.0f', math.max(last, now - 1))
if ARGV[1] == '' then return { upto, {} } end
-- While there is no timeline, nothing is noted of what would have been taken out.
if redis.call('EXISTS', KEYS[2]) == 0 then return nil end
local since = tonumber(ARGV[1])
local cut = tonumber(redis.call('ZSCORE', KEYS[1], '0')) or 0
if since < cut or since < now - tonumber(ARGV[2]) then return nil end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[3])
return { upto, found }
