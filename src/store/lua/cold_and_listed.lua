-- Reads what is noted of an author's cold posts together with the author's list, as of one moment.
-- KEYS[1]  what became cold: a hash      KEYS[2]  deleted posts that the archive may still have: a sorted set
-- KEYS[3]  the posts: a list
-- ARGV[1]  none
-- Returns  { the greatest that became cold or nil, how many did as it is noted or nil, { the deleted }, { the posts } }
local cold = redis.call('HMGET', KEYS[1], 'greatest', 'count')
return { cold[1], cold[2], redis.call('ZRANGE', KEYS[2], 0, -1), redis.call('LRANGE', KEYS[3], 0, -1) }
