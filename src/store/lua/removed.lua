-- Reads the posts removed from a timeline.
-- KEYS[1]  the removed posts: a sorted set     KEYS[2]  the timeline
-- ARGV[1]  exclusive lower bound of the time, or '' to read only the current time
-- ARGV[2]  maximum number of posts
-- Returns  { time up to which the result is complete, { post, time, … }, the time of a reset or nil }, or nil if
--          records are missing, or the clock has gone back behind the lower bound
local now = clock()
local upto = string.format('%.0f', removed_upto(KEYS[1]))
if ARGV[1] == '' then return { upto, {}, false } end
-- Removals are not recorded while there is no timeline.
if redis.call('EXISTS', KEYS[2]) == 0 then return nil end
local since = tonumber(ARGV[1])
local cut = tonumber(redis.call('ZSCORE', KEYS[1], '0')) or 0
if since < cut or since < now - REMOVALS_MILLIS or since > tonumber(upto) then return nil end
local found = redis.call('ZRANGEBYSCORE', KEYS[1], '(' .. ARGV[1], '+inf', 'WITHSCORES', 'LIMIT', 0, ARGV[2])
local posts, reset_at = {}, false
for index = 1, #found, 2 do
  if found[index] == RESET then reset_at = found[index + 1]
  else
    posts[#posts + 1] = found[index]
    posts[#posts + 1] = found[index + 1]
  end
end
return { upto, posts, reset_at }
