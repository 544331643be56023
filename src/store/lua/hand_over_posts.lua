-- Hands over what a mover has, which is gone or about to be. Should it live all the same, no harm is done.
-- KEYS[1]  what it has: a list      KEYS[2]  where that goes, in front: a list
-- KEYS[3]  the movers by when they were last heard of: a sorted set
-- ARGV[1]  the mover                ARGV[2]  the mover who gets it, if it is one: it lives, whatever others think
-- Returns  how many posts those are
local count = 0
while redis.call('LMOVE', KEYS[1], KEYS[2], 'RIGHT', 'LEFT') do count = count + 1 end
redis.call('ZREM', KEYS[3], ARGV[1])
if ARGV[2] then
  local time = redis.call('TIME')
  redis.call('ZADD', KEYS[3], time[1] * 1000 + math.floor(time[2] / 1000), ARGV[2])
end
return count
