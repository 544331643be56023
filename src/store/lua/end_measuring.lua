-- Releases the measuring lock.
-- KEYS[1]  the lock
-- ARGV[1]  the nonce of the caller
-- Returns  1 if released, 0 if the caller does not hold it
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
