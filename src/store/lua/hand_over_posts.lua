-- Hands over the posts of a mover that is gone or stopping. If it is still running, this is harmless.
-- KEYS[1]  the mover's posts: a list      KEYS[2]  the destination, which they are put in front of: a list
-- KEYS[3]  the movers by time of their last heartbeat: a sorted set
-- ARGV[1]  the mover                ARGV[2]  the mover that gets them, if any: it is alive, whatever the others assume
-- Returns  the number of posts
local count = 0
while redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') do count = count + 1 end
redis.call('ZREM', KEYS[3], ARGV[1])
if ARGV[2] then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2])
end
return count
