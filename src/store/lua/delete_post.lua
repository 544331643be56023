-- Takes a post out of its author's lists and timeline. Twice is once.
-- KEYS[1]  the void set        KEYS[2]  the author's posts: a list
-- KEYS[3]  the author's newest posts: a sorted set     KEYS[4]  the author's timeline
-- ARGV[1]  the post        ARGV[2]  the time now     ARGV[3]  milliseconds to remember it for, so that
--          a late publisher does not put it back      ARGV[4]  how many are the newest
-- Returns  1 if it was there, else 0
local was_there = redis.call('LREM', KEYS[2], 1, ARGV[1])
redis.call('ZREM', KEYS[3], ARGV[1])
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, tonumber(ARGV[4]) - 1)) do
  redis.call('ZADD', KEYS[3], id, id)
end
redis.call('LREM', KEYS[4], 1, ARGV[1])
remember(KEYS[1], 'deleted:' .. ARGV[1], ARGV[2], ARGV[3])
return was_there
