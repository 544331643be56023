-- Binds an idempotency key to a publish attempt or an edit, if the key has the expected value or has expired. Binding
-- an unbound key takes a token from the author's bucket; a bound key has already taken its token.
-- KEYS[1]  the idempotency key     KEYS[2]  the bucket
-- KEYS[3]  the names of the author's keys that expire
-- ARGV[1]  the expected value; '' for none
-- ARGV[2]  the new value           ARGV[3]  its lifetime in seconds
-- ARGV[4]  now, in milliseconds    ARGV[5]  refill interval of one token, in microseconds
-- ARGV[6]  capacity                ARGV[7]  number of tokens to take
-- Returns  { the current value, or nil; microseconds until there are enough tokens, 0 if no token was missing }
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return { held, 0 } end
if ARGV[1] == '' then
  local wait = take_tokens(KEYS[2], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]))
  if wait > 0 then return { false, wait } end
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
note_expiring(KEYS[3], KEYS[1], tonumber(ARGV[3]) * 1000)
return { ARGV[2], 0 }
