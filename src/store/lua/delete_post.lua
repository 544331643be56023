-- Removes a post from its author's lists and timeline, and from the counts of cold posts. Idempotent.
-- KEYS[1]  the revoked items   KEYS[2]  the author's posts: a list
-- KEYS[3]  the author's newest posts: a sorted set     KEYS[4]  the author's timeline
-- KEYS[5]  the summary of cold posts: a hash     KEYS[6]  deleted posts that may still be in the archive: a sorted set
-- KEYS[7]  posts removed from the timeline: a sorted set     KEYS[8]  the posts' creation times: a list
-- KEYS[9]  those of the posts that only followers can see: a sorted set
-- KEYS[10?] for a repost, the posts that the author has reposted: a hash
-- ARGV[1]  the post        ARGV[2]  the current time     ARGV[3]  milliseconds for which the deletion is
--          recorded, so that a late publisher does not restore the post      ARGV[4]  number of newest posts
-- ARGV[5]  1 if only followers can see the post     ARGV[6]  for a repost, the post that it reposts
-- Returns  1 if the post was in the list or cold, else 0
local function count_down(field)
  local count = tonumber(redis.call('HGET', KEYS[5], field)) or 0
  if count > 0 then redis.call('HINCRBY', KEYS[5], field, -1) end
end

local timed, length = is_timed(KEYS[2], KEYS[8]), redis.call('LLEN', KEYS[2])
local at = count_above(KEYS[2], length, tonumber(ARGV[1]))
local was_there = redis.call('LREM', KEYS[2], 1, ARGV[1])
if was_there == 1 then
  if timed then remove_at(KEYS[8], at, 1) else redis.call('DEL', KEYS[8]) end
end
redis.call('ZREM', KEYS[9], ARGV[1])
if ARGV[6] and redis.call('HGET', KEYS[10], ARGV[6]) == ARGV[1] then redis.call('HDEL', KEYS[10], ARGV[6]) end
redis.call('ZREM', KEYS[3], ARGV[1])
for _, id in ipairs(redis.call('LRANGE', KEYS[2], 0, tonumber(ARGV[4]) - 1)) do
  redis.call('ZADD', KEYS[3], id, id)
end
remove(KEYS[4], KEYS[7], ARGV[1])
-- A revoked post was never counted. Its record also says so, unless an earlier version has buried it.
if redis.call('ZSCORE', KEYS[1], ARGV[1]) then return 0 end
-- The archive may already contain a post that is still in the list.
local is_noted = redis.call('ZSCORE', KEYS[1], 'deleted:' .. ARGV[1])
if not is_noted and redis.call('ZADD', KEYS[6], ARGV[1], ARGV[1]) == 1 and was_there == 0 then
  local greatest = tonumber(redis.call('HGET', KEYS[5], 'greatest') or 0)
  if tonumber(ARGV[1]) <= greatest then
    count_down('count')
    if ARGV[5] == '1' then count_down('limited') end
    was_there = 1
  end
end
record(KEYS[1], 'deleted:' .. ARGV[1], ARGV[2], ARGV[3])
return was_there
