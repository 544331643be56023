-- Counts an author's hot and cold posts.
-- `store::post_list` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- KEYS[3]  those of the posts that only followers can see: a sorted set
-- ARGV[1]  1 to leave out the posts that only followers can see
-- Returns  the number of posts; a corrupt cold count is taken as 0
local function cold(field) return math.max(0, tonumber(redis.call('HGET', KEYS[2], field)) or 0) end

local count = redis.call('LLEN', KEYS[1]) + cold('count')
if ARGV[1] ~= '1' then return count end
return math.max(0, count - redis.call('ZCARD', KEYS[3]) - cold('limited'))
