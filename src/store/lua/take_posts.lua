-- Takes posts that are due to become cold, unless the mover still has posts, and records the mover's heartbeat. At most
-- half of them were postponed before, so that posts that keep changing do not stop the others.
-- KEYS[1]  the queued posts: a list      KEYS[2]  this mover's posts: a list
-- KEYS[3]  the movers by time of their last heartbeat: a sorted set
-- KEYS[4]  the postponed posts by the time from which they are due: a sorted set
-- ARGV[1]  the mover      ARGV[2]  maximum number of posts
-- ARGV[3]  milliseconds after which a mover counts as silent     ARGV[4]  the time up to which postponed posts are due
-- Returns  { { this mover's posts }, { silent movers } }
local time = redis.call('TIME')
local now = time[1] * 1000 + math.floor(time[2] / 1000)
redis.call('ZADD', KEYS[3], now, ARGV[1])
local silent = {}
for _, mover in ipairs(redis.call('ZRANGEBYSCORE', KEYS[3], '-inf', now - tonumber(ARGV[3]))) do
  if mover ~= ARGV[1] then silent[#silent + 1] = mover end
end
local most = tonumber(ARGV[2])
if redis.call('EXISTS', KEYS[2]) == 0 then
  local due = redis.call('ZRANGEBYSCORE', KEYS[4], '-inf', ARGV[4], 'LIMIT', 0, math.ceil(most / 2))
  if #due > 0 then
    redis.call('RPUSH', KEYS[2], unpack(due))
    redis.call('ZREM', KEYS[4], unpack(due))
  end
  for _ = #due + 1, most do
    if not redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') then break end
  end
end
return { redis.call('LRANGE', KEYS[2], 0, most - 1), silent }
