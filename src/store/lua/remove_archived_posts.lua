-- Removes archived posts from their author's list. Idempotent.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- ARGV[1]  the post with the least id     ARGV[2…] the other posts, in ascending order of id
-- Returns  the number of posts that were in the list
local count = 0
for _, text in ipairs(ARGV) do
  -- Binary search, because LREM would scan the whole list for a post that is not there.
  local id, length = tonumber(text), redis.call('LLEN', KEYS[1])
  local at = count_above(KEYS[1], length, id)
  if at < length and tonumber(redis.call('LINDEX', KEYS[1], at)) == id then
    count = count + redis.call('LREM', KEYS[1], -1, text)
  end
end
if count > 0 then redis.call('HINCRBY', KEYS[2], 'count', count) end
local last = ARGV[#ARGV]
if tonumber(last) > tonumber(redis.call('HGET', KEYS[2], 'greatest') or 0) then
  redis.call('HSET', KEYS[2], 'greatest', last)
end
return count
