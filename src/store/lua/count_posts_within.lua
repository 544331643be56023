-- Counts an author's hot posts in a period, and returns what is needed to count the cold ones.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- KEYS[3]  deleted posts that may still be in the archive: a sorted set      KEYS[4]  the posts' creation times: a list
-- ARGV[1]  the period's first millisecond or ''     ARGV[2]  the first millisecond after the period or ''
-- Returns  { the number of hot posts, the greatest cold post or 0 if no cold post is in the period,
--            { posts that may be in the archive although they are hot or deleted }, the number of posts in the list };
--            nil if the times are unknown
local since = tonumber(ARGV[1])
local ids = posts_within(KEYS[1], KEYS[4], since, tonumber(ARGV[2]))
if not ids then return nil end
local cold = redis.call('HMGET', KEYS[2], 'greatest', 'latest')
local greatest = tonumber(cold[1]) or 0
if since and cold[2] and tonumber(cold[2]) < since then greatest = 0 end
local excluded = {}
if greatest > 0 then
  excluded = redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', cold[1])
  for _, id in ipairs(ids) do
    if tonumber(id) <= greatest then excluded[#excluded + 1] = id end
  end
end
return { #ids, string.format('%.0f', greatest), excluded, redis.call('LLEN', KEYS[1]) }
