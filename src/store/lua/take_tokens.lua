-- Takes tokens from a bucket, if there are enough.
-- KEYS[1]  the bucket
-- ARGV[1]  now, in milliseconds    ARGV[2]  refill interval of one token, in microseconds
-- ARGV[3]  capacity                ARGV[4]  number of tokens to take
-- Returns  microseconds until there are enough, 0 if they were taken; and microseconds until the bucket is full
local wait, full = take_tokens(KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
return { wait, full }
