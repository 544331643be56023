-- Sets a tombstone to expire, because the archive has recorded the deletion. Until then, a reader of the post need not
-- query the archive.
-- KEYS[1]  the record
-- ARGV[1]  milliseconds until the tombstone expires
-- Returns  1 if the tombstone will expire, 0 if there is no tombstone
if redis.call('HEXISTS', KEYS[1], 'deleted') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'settled', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
