-- An author's posts for a reader who has pulled before.
-- KEYS[1]  the author's newest posts: a sorted set     KEYS[2]  the author's posts: a list
-- KEYS[3]  the greatest post that has left the list
-- ARGV[1]  the posts above this one; 0 for all
-- ARGV[2]  of these, those below this one; '' for all
-- ARGV[3]  at most so many
-- Returns  { the first post that was not taken though it is above ARGV[1], or 0,
--            the greatest post above ARGV[1] that has left the list, or 0, { the posts } }
local mark, below, limit = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
if mark > 0 and not below then
  local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', '(' .. ARGV[1])
  -- Only if the oldest of the newest is not above the mark, however few they are, these are all.
  if #ids < redis.call('ZCARD', KEYS[1]) and #ids <= limit then return { '0', '0', ids } end
end
local ids, length = {}, redis.call('LLEN', KEYS[2])
local found = page(KEYS[2], length, 'forward', limit + 1, below)
for _, id in ipairs(found) do
  if tonumber(id) <= mark then break end
  ids[#ids + 1] = id
end
local beyond = table.remove(ids, limit + 1) or '0'
local cold = redis.call('GET', KEYS[3]) or '0'
return { beyond, tonumber(cold) > mark and cold or '0', ids }
