-- Makes an author a star: from now on, followers pull the author's posts, and as soon as all servers know, no job
-- pushes them.
-- KEYS[1]  the stars: a set    KEYS[2]  the stars by number: a sorted set
-- ARGV[1]  the author
-- Returns  1 if the author was not a star before, else 0
local is_new = redis.call('SADD', KEYS[1], ARGV[1])
if is_new == 1 then redis.call('ZADD', KEYS[2], last_number(KEYS[2]) + 1, ARGV[1]) end
return is_new
