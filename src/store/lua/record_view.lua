-- Notes that somebody looked at a profile on a day: in the first of the shards that has room.
-- KEYS[1], ...  the shards where the visitor may be, from the first generation to the last
-- ARGV[1]  the visitor   ARGV[2]  how many a shard has room for, but for the last
-- ARGV[3]  for how long they are kept, in seconds
-- Returns  1 if the visitor is new on this day, else 0
for generation, shard in ipairs(KEYS) do
  if redis.call('SISMEMBER', shard, ARGV[1]) == 1 then return 0 end
  local count = redis.call('SCARD', shard)
  if count < tonumber(ARGV[2]) or generation == #KEYS then
    redis.call('SADD', shard, ARGV[1])
    if count == 0 then redis.call('EXPIRE', shard, ARGV[3]) end
    return 1
  end
end
