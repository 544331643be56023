-- Takes tokens from a bucket for password attempts, and notes its key.
-- KEYS[1]  the bucket      KEYS[2]  the names of the user's keys that expire
-- ARGV[1]  now, in milliseconds    ARGV[2]  refill interval of one token, in microseconds
-- ARGV[3]  capacity                ARGV[4]  number of tokens to take
-- Returns  { microseconds until there are enough tokens, 0 if they were taken; microseconds until the bucket is full }
local wait, full =
  take_tokens(KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
if wait == 0 then note_expiring(KEYS[2], KEYS[1], math.ceil(full / 1000) + SLACK) end
return { wait, full }
