-- Corrects the summary of an author's cold posts, unless it has changed since it was read. A post that becomes cold or
-- is deleted changes the count or the set of deleted posts.
-- KEYS[1]  the summary of cold posts: a hash      KEYS[2]  deleted posts that may still be in the archive: a sorted set
-- ARGV[1]  the count that was read, '' if it was not a number     ARGV[2]  the greatest id that was read
-- ARGV[3]  the number of deleted posts that were read
-- ARGV[4]  the correct count     ARGV[5]  the correct greatest id
-- Returns  1 if corrected, 0 if the summary has changed
local cold = redis.call('HMGET', KEYS[1], 'count', 'greatest')
local count = cold[1] or '0'
if not string.match(count, '^%d+$') then count = '' end
local is_as_read = count == ARGV[1] and (cold[2] or '0') == ARGV[2]
if not is_as_read or redis.call('ZCARD', KEYS[2]) ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'count', ARGV[4], 'greatest', ARGV[5])
-- The archive may have later posts than those that were noted.
redis.call('HDEL', KEYS[1], 'latest')
return 1
