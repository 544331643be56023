-- Atomically reads the summary of an author's cold posts and the author's list.
-- KEYS[1]  the summary of cold posts: a hash      KEYS[2]  deleted posts that may still be in the archive: a sorted set
-- KEYS[3]  the posts: a list
-- ARGV[1]  none
-- Returns  { greatest cold post or nil, recorded number of cold posts or nil, of those that only followers can see or
--            nil, { deleted posts }, { listed posts } }
local cold = redis.call('HMGET', KEYS[1], 'greatest', 'count', 'limited')
return { cold[1], cold[2], cold[3], redis.call('ZRANGE', KEYS[2], 0, -1), redis.call('LRANGE', KEYS[3], 0, -1) }
