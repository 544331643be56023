-- Corrects the summary of an author's cold posts, unless it has changed since it was read. A post that becomes cold or
-- is deleted changes the count or the set of deleted posts.
-- KEYS[1]  the summary of cold posts: a hash      KEYS[2]  deleted posts that may still be in the archive: a sorted set
-- ARGV[1]  the count that was read, '' if it was not a number     ARGV[2]  the greatest id that was read
-- ARGV[3]  the number of deleted posts that were read
-- ARGV[4]  the number of follower-only posts that was read, '' if it was not a number
-- ARGV[5]  the correct count    ARGV[6]  the correct greatest id    ARGV[7]  the correct number of follower-only posts
-- Returns  1 if corrected, 0 if the summary has changed
local function number(stored)
  if not stored then return '0' end
  return string.match(stored, '^%d+$') or ''
end

local cold = redis.call('HMGET', KEYS[1], 'count', 'greatest', 'limited')
local is_as_read = number(cold[1]) == ARGV[1] and (cold[2] or '0') == ARGV[2] and number(cold[3]) == ARGV[4]
if not is_as_read or redis.call('ZCARD', KEYS[2]) ~= tonumber(ARGV[3]) then return 0 end
redis.call('HSET', KEYS[1], 'count', ARGV[5], 'greatest', ARGV[6])
if ARGV[7] == '0' then redis.call('HDEL', KEYS[1], 'limited') else redis.call('HSET', KEYS[1], 'limited', ARGV[7]) end
-- The archive may have later posts than those that were noted.
redis.call('HDEL', KEYS[1], 'latest')
return 1
