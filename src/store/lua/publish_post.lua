-- Makes a post visible in its author's lists and in the author's own timeline. Idempotent.
-- KEYS[1]  the revoked items   KEYS[2]  the author's posts: a list
-- KEYS[3]  the author's newest posts: a sorted set     KEYS[4]  the author's timeline
-- KEYS[5]  the summary of cold posts: a hash    KEYS[6]  the posts' creation times: a list
-- KEYS[7]  those of the posts that only followers can see: a sorted set
-- KEYS[8?] the idempotency key, if any; for a repost, the posts that the author has reposted: a hash
-- ARGV[1]  the post        ARGV[2]  the capacity of a timeline
-- ARGV[3]  number of an author's posts that stay hot      ARGV[4]  number of newest posts
-- ARGV[5]  the channel that announces authors, if this script is to announce this one; else ''     ARGV[6]  the author
-- ARGV[7]  the post's creation time       ARGV[8]  1 if only followers can see the post
-- ARGV[9]  the expected value of the idempotency key    ARGV[10] its new value once the post is visible
-- ARGV[11] for a repost, the post that it reposts
-- Returns  { 1 if the post is or was visible, 0 if it is revoked, 3 if it became cold or is revoked,
--            posts that are due to become cold … }, or { 4, the author's earlier repost of the same post }
local text, id = ARGV[1], tonumber(ARGV[1])
if redis.call('ZSCORE', KEYS[1], 'deleted:' .. text) then return { 1 } end
if redis.call('ZSCORE', KEYS[1], text) then return { 0 } end
local length = redis.call('LLEN', KEYS[2])
if id <= tonumber(redis.call('HGET', KEYS[5], 'greatest') or 0) then
  -- Readers rely on no post being added at or below the greatest cold post, but the list may already contain this post.
  local at = count_above(KEYS[2], length, id)
  if at == length or tonumber(redis.call('LINDEX', KEYS[2], at)) ~= id then return { 3 } end
end
if ARGV[11] then
  local earlier = redis.call('HGET', KEYS[8], ARGV[11])
  if earlier and earlier ~= text then return { 4, earlier } end
  redis.call('HSET', KEYS[8], ARGV[11], text)
end
local timed = is_timed(KEYS[2], KEYS[6])
local at, is_new = insert(KEYS[2], length, id)
if is_new then
  if timed then insert_time(KEYS[6], at, id, ARGV[7]) else redis.call('DEL', KEYS[6]) end
end
if ARGV[8] == '1' then redis.call('ZADD', KEYS[7], ARGV[7], text) end
redis.call('ZADD', KEYS[3], id, text)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[4]))
deliver(KEYS[4], id, tonumber(ARGV[2]))
if ARGV[5] ~= '' then publish(ARGV[5], ARGV[6]) end
if KEYS[8] and not ARGV[11] and redis.call('GET', KEYS[8]) == ARGV[9] then
  redis.call('SET', KEYS[8], ARGV[10], 'KEEPTTL')
end
local hot = tonumber(ARGV[3])
local answer = { 1, redis.call('LINDEX', KEYS[2], hot) or nil }
if at > hot then answer[#answer + 1] = text end
return answer
