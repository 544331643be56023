-- Makes an author a star: from now on, followers pull the author's posts, and as soon as all servers know, no job pushes them.
-- KEYS[1]  the stars: a set    KEYS[2]  the version of that set
-- ARGV[1]  the author      ARGV[2]  a new version
-- Returns  1 if the author was not a star before, else 0
local is_new = redis.call('SADD', KEYS[1], ARGV[1])
if is_new == 1 then redis.call('SET', KEYS[2], ARGV[2]) end
return is_new
