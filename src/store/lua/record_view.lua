-- Records a profile view on a day, in the first shard that has room.
-- KEYS[1], ...  the shards that may contain the viewer, from the first level to the last
-- ARGV[1]  the viewer    ARGV[2]  the capacity of a shard, except the last
-- ARGV[3]  the lifetime of a shard, in seconds
-- Returns  1 if this is the viewer's first view on this day, else 0
for generation, shard in ipairs(KEYS) do
  if redis.call('SISMEMBER', shard, ARGV[1]) == 1 then return 0 end
  local count = redis.call('SCARD', shard)
  if count < tonumber(ARGV[2]) or generation == #KEYS then
    redis.call('SADD', shard, ARGV[1])
    if count == 0 then redis.call('EXPIRE', shard, ARGV[3]) end
    return 1
  end
end
