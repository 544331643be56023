-- Removes archived posts from their author's list. Idempotent.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- KEYS[3]  the posts' creation times: a list
-- KEYS[4]  those of the posts that only followers can see: a sorted set
-- ARGV[1]  the post with the least id     ARGV[2…] the other posts, in ascending order of id
-- Returns  the number of posts that were in the list
local count, limited, latest = 0, 0, 0
local timed = is_timed(KEYS[1], KEYS[3])
local cold = redis.call('HMGET', KEYS[2], 'greatest', 'latest')
-- The latest time of all cold posts is known only if it was noted for every post that became cold.
local is_known = timed and (cold[2] or not cold[1])
for _, text in ipairs(ARGV) do
  -- Binary search, because LREM would scan the whole list for a post that is not there.
  local id, length = tonumber(text), redis.call('LLEN', KEYS[1])
  local at = count_above(KEYS[1], length, id)
  if at < length and tonumber(redis.call('LINDEX', KEYS[1], at)) == id then
    count = count + redis.call('LREM', KEYS[1], -1, text)
    limited = limited + redis.call('ZREM', KEYS[4], text)
    if timed then
      latest = math.max(latest, time_of(redis.call('LINDEX', KEYS[3], at)))
      remove_at(KEYS[3], at, -1)
    end
  elseif id > (tonumber(cold[1]) or 0) then
    is_known = false
  end
end
if is_known then
  if count > 0 then
    redis.call('HSET', KEYS[2], 'latest', string.format('%.0f', math.max(latest, tonumber(cold[2]) or 0)))
  end
else
  redis.call('HDEL', KEYS[2], 'latest')
end
if not timed then redis.call('DEL', KEYS[3]) end
if count > 0 then redis.call('HINCRBY', KEYS[2], 'count', count) end
if limited > 0 then redis.call('HINCRBY', KEYS[2], 'limited', limited) end
local last = ARGV[#ARGV]
if tonumber(last) > tonumber(redis.call('HGET', KEYS[2], 'greatest') or 0) then
  redis.call('HSET', KEYS[2], 'greatest', last)
end
return count
