-- Records a user's visit on a day, unless the day is closed.
-- KEYS[1]  a shard of the day's visits
-- ARGV[1]  the user   ARGV[2]  the member that marks a closed shard
-- Returns  1 if the user is counted on this day, 0 if the day is closed
if redis.call('SISMEMBER', KEYS[1], ARGV[2]) == 1 then
  return redis.call('SISMEMBER', KEYS[1], ARGV[1])
end
redis.call('SADD', KEYS[1], ARGV[1])
return 1
