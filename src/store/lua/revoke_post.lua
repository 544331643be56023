-- Revokes a post that is not visible, if no process can still be publishing it. A late publisher then finds the post
-- revoked.
-- KEYS[1]  the revoked items   KEYS[2]  the author's posts: a list
-- KEYS[3]  the summary of cold posts: a hash
-- ARGV[1]  the post        ARGV[2]  the current time     ARGV[3]  milliseconds for which the revocation is recorded
-- ARGV[4]  number of an author's posts that stay hot      ARGV[5]  1 if no process can still be publishing it
-- Returns  { 0 if the post is revoked now, 1 if it is or was visible, 2 if it is neither, 3 if it became cold
--            or is revoked, posts that are due to become cold … }
local id = tonumber(ARGV[1])
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return { 0 } end
if redis.call('ZSCORE', KEYS[1], 'deleted:' .. ARGV[1]) then return { 1 } end
local length = redis.call('LLEN', KEYS[2])
local at = count_above(KEYS[2], length, id)
if at < length and tonumber(redis.call('LINDEX', KEYS[2], at)) == id then
  local hot = tonumber(ARGV[4])
  return { 1, unpack(redis.call('LRANGE', KEYS[2], hot, hot + 999)) }
end
if id <= tonumber(redis.call('HGET', KEYS[3], 'greatest') or 0) then return { 3 } end
if ARGV[5] ~= '1' then return { 2 } end
record(KEYS[1], ARGV[1], ARGV[2], ARGV[3])
return { 0 }
