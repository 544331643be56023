-- Shared part of the scripts whose changes take tokens.

-- Takes tokens for a change, given the index of the first of four arguments: now in milliseconds, or '' if the change
-- is not limited; the refill interval of one token, in microseconds; the capacity; and the number of tokens to take.
-- Returns the microseconds until the bucket has enough tokens, 0 if the change may be made.
local function throttle(key, first)
  if ARGV[first] == '' then return 0 end
  local interval, capacity, cost = tonumber(ARGV[first + 1]), tonumber(ARGV[first + 2]), tonumber(ARGV[first + 3])
  return (take_tokens(key, ARGV[first], interval, capacity, cost))
end
