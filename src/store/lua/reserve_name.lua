-- Reserves a username or a subject, if it is free.
-- KEYS[1]  the shard of the username index or of the subject index
-- ARGV[1]  the username or the subject    ARGV[2]  the value to set if it is free
-- Returns  the current value
redis.call('HSETNX', KEYS[1], ARGV[1], ARGV[2])
return redis.call('HGET', KEYS[1], ARGV[1])
