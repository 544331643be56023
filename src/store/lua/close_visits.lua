-- Closes a shard of a past day, which then accepts no more visits.
-- KEYS[1]  a shard of the day's visits
-- ARGV[1]  the member that marks a closed shard
-- Returns  the number of visitors
redis.call('SADD', KEYS[1], ARGV[1])
return redis.call('SCARD', KEYS[1]) - 1
