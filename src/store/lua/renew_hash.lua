-- Replaces a password hash by another hash of the same password, unless the password has changed since it was verified.
-- Idempotent.
-- KEYS[1]  the secret
-- ARGV[1]  the hash that was verified      ARGV[2]  the new hash
-- Returns  1 if the secret has the new hash now, else 0
local held = redis.call('HGET', KEYS[1], 'password')
if held == ARGV[2] then return 1 end
if held ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'password', ARGV[2])
return 1
