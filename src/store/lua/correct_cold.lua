-- Corrects what is noted of an author's cold posts, if it is still as it was read. A post that becomes cold, or is
-- deleted, changes the count or the set of the deleted.
-- KEYS[1]  what became cold: a hash      KEYS[2]  deleted posts that the archive may still have: a sorted set
-- ARGV[1]  the count that was read, '' for one that is no number of posts     ARGV[2]  the greatest that was read
-- ARGV[3]  how many deleted posts were read
-- ARGV[4]  the right count     ARGV[5]  the right greatest
-- Returns  1 if it is right now, 0 if something has changed
local cold = redis.call('HMGET', KEYS[1], 'count', 'greatest')
local count = cold[1] or '0'
if not string.match(count, '^%d+$') then count = '' end
local is_as_read = count == ARGV[1] and (cold[2] or '0') == ARGV[2]
if not is_as_read or redis.call('ZCARD', KEYS[2]) ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'count', ARGV[4], 'greatest', ARGV[5])
return 1
