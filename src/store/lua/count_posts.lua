-- Counts an author's hot and cold posts.
-- `store::post_list` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- ARGV[1]  none
-- Returns  the number of posts; a corrupt cold count is taken as 0
return redis.call('LLEN', KEYS[1]) + math.max(0, tonumber(redis.call('HGET', KEYS[2], 'count')) or 0)
