-- Acquires or renews the measuring lock, unless another process holds it.
-- KEYS[1]  the lock
-- ARGV[1]  the nonce of the caller     ARGV[2]  the lifetime of the lock, in seconds
-- Returns  1 if acquired, else 0
local other = redis.call('GET', KEYS[1])
if other and other ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
