-- Binds an idempotency key to an attempt to publish, if it holds what it is thought to hold or, because it has expired,
-- nothing. A key that was not bound takes a token from the author's bucket; one that is bound has done so before.
-- KEYS[1]  the idempotency key     KEYS[2]  the bucket
-- ARGV[1]  what it must hold for anything to happen; '' for nothing
-- ARGV[2]  what it shall hold      ARGV[3]  seconds to remember it for
-- ARGV[4]  now, in milliseconds    ARGV[5]  microseconds in which one token comes back
-- ARGV[6]  how many fit            ARGV[7]  how many to take
-- Returns  { what it holds now, or nil; microseconds until there are enough tokens, 0 if no more were needed }
local held = redis.call('GET', KEYS[1])
if held and held ~= ARGV[1] then return { held, 0 } end
if ARGV[1] == '' then
  local wait = draw(KEYS[2], ARGV[4], tonumber(ARGV[5]), tonumber(ARGV[6]), tonumber(ARGV[7]))
  if wait > 0 then return { false, wait } end
end
redis.call('SET', KEYS[1], ARGV[2], 'EX', ARGV[3])
return { ARGV[2], 0 }
