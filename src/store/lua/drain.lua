-- Takes tokens for work already done, or all tokens left if there are fewer.
-- KEYS[1]  the bucket
-- ARGV[1]  now, in milliseconds    ARGV[2]  refill interval of one token, in microseconds
-- ARGV[3]  capacity                ARGV[4]  number of tokens to take
-- Returns  microseconds until the bucket is full
local interval, capacity, used = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local wait, full = take_tokens(KEYS[1], ARGV[1], interval, capacity, used)
if wait > 0 then
  -- The bucket has fewer tokens: take all whole tokens left.
  wait, full = take_tokens(KEYS[1], ARGV[1], interval, capacity, math.max(math.floor(capacity - full / interval), 0))
end
return full
