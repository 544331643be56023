-- Notes that somebody does not measure any more.
-- KEYS[1]  who measures
-- ARGV[1]  the nonce of who did
-- Returns  1 if it was noted, else 0
if redis.call('GET', KEYS[1]) ~= ARGV[1] then return 0 end
return redis.call('DEL', KEYS[1])
