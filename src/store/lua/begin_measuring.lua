-- Notes that somebody measures, or still does, unless somebody else does.
-- KEYS[1]  who measures
-- ARGV[1]  the nonce of who wants to   ARGV[2]  for how long, in seconds
-- Returns  1 if it may, else 0
local other = redis.call('GET', KEYS[1])
if other and other ~= ARGV[1] then return 0 end
redis.call('SET', KEYS[1], ARGV[1], 'EX', ARGV[2])
return 1
