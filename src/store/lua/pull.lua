-- Reads an author's posts above a mark, for a timeline into which everything up to the mark has been pulled.
-- `store::timeline` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the author's newest posts: a sorted set     KEYS[2]  the author's posts: a list
-- KEYS[3]  the summary of cold posts: a hash
-- ARGV[1]  the mark        ARGV[2]  maximum number of posts
-- Returns  { the first post above the mark that was not returned, or 0,
--            the greatest post above the mark that has left the list, or 0, { the posts } }
local mark, limit = tonumber(ARGV[1]), tonumber(ARGV[2])
local ids = redis.call('ZREVRANGEBYSCORE', KEYS[1], '+inf', '(' .. ARGV[1])
-- The set of newest posts suffices only if its oldest post is not above the mark, however few posts the set contains.
if #ids < redis.call('ZCARD', KEYS[1]) and #ids <= limit then return { '0', '0', ids } end
ids = {}
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, limit)) do
  if tonumber(id) <= mark then break end
  ids[#ids + 1] = id
end
local beyond = table.remove(ids, limit + 1) or '0'
local cold = redis.call('HGET', KEYS[3], 'greatest') or '0'
return { beyond, tonumber(cold) > mark and cold or '0', ids }
