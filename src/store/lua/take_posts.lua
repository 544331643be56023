-- Takes posts that are due to become cold, unless the mover still has posts, and records the mover's heartbeat.
-- KEYS[1]  the queued posts: a list      KEYS[2]  this mover's posts: a list
-- KEYS[3]  the movers by time of their last heartbeat: a sorted set
-- ARGV[1]  the mover      ARGV[2]  maximum number of posts
-- ARGV[3]  milliseconds after which a mover counts as silent
-- Returns  { { this mover's posts }, { silent movers } }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[3], now, ARGV[1])
local silent = {}
for _, mover in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[3]))) do
  if mover ~= ARGV[1] then silent[#silent + 1] = mover end
end
if redis.call('EXISTS', KEYS[2]) == 0 then
  for _ = 1, tonumber(ARGV[2]) do
    if not redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') then break end
  end
end
return { redis.call('LRANGE', KEYS[2], 0, tonumber(ARGV[2]) - 1), silent }
