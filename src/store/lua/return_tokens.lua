-- Returns tokens to a bucket.
-- KEYS[1]  the bucket
-- ARGV[1]  now, in milliseconds    ARGV[2]  time in which these tokens would be refilled, in microseconds
-- Returns  1 if returned, 0 if the bucket is full
local full = redis.call('GET', KEYS[1])
if not full then return 0 end
local after = tonumber(full) - tonumber(ARGV[2])
if after > tonumber(ARGV[1]) * 1000 then
  redis.call('SET', KEYS[1], string.format('%.0f', after), 'KEEPTTL')
else
  redis.call('DEL', KEYS[1])
end
return 1
