-- Reserves a username, if it is free.
-- KEYS[1]  the shard of the username index
-- ARGV[1]  the username    ARGV[2]  the value to set if the username is free
-- Returns  the current value
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
