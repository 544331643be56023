-- Closes a shard of a day that is over: from now on nobody comes on it any more.
-- KEYS[1]  a shard of the visits of the day
-- ARGV[1]  what is in a closed shard beside users
-- Returns  how many users came
redis.call('SADD', KEYS[1], ARGV[1])
return redis.call('SCARD', KEYS[1]) - 1
