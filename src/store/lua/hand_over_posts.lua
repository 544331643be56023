-- Hands over the posts of a mover that is silent or stopping. Harmless if the mover is still running.
-- KEYS[1]  the mover's posts: a list      KEYS[2]  the destination: a list; the posts go to its front
-- KEYS[3]  the movers by time of their last heartbeat: a sorted set
-- ARGV[1]  the mover                ARGV[2]  the mover that receives the posts, if any; the script renews its heartbeat
-- Returns  the number of posts handed over
local count = 0
while redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') do count = count + 1 end
redis.call('ZREM', KEYS[3], ARGV[1])
if ARGV[2] then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2])
end
return count
