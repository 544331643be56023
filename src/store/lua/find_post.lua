-- Locates a post among its author's posts.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- ARGV[1]  the post
-- Returns  'listed'; 'cold' if the post became cold or will never be visible; or 'absent'
local id = tonumber(ARGV[1])
local length = redis.call('LLEN', KEYS[1])
local at = count_above(KEYS[1], length, id)
if at < length and tonumber(redis.call('LINDEX', KEYS[1], at)) == id then return 'listed' end
return id <= tonumber(redis.call('HGET', KEYS[2], 'greatest') or 0) and 'cold' or 'absent'
