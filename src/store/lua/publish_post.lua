-- Makes a post visible: in its author's lists and its author's own timeline. Twice is once.
-- KEYS[1]  the void set        KEYS[2]  the author's posts: a list
-- KEYS[3]  the author's newest posts: a sorted set     KEYS[4]  the author's timeline
-- KEYS[5]  what became cold: a hash    KEYS[6]  the idempotency key, if there is one
-- ARGV[1]  the post        ARGV[2]  how many posts a timeline holds
-- ARGV[3]  how many of an author's posts stay hot      ARGV[4]  how many are the newest
-- ARGV[5]  where to say whose post there is, if readers pull it, or ''     ARGV[6]  the author
-- ARGV[7]  what the idempotency key must hold    ARGV[8]  to hold this when the post is visible
-- Returns  { 1 if the post is visible or was, 0 if it must never be, 3 if it became cold or must never be,
--            posts that shall become cold … }
local text, id = ARGV[1], tonumber(ARGV[1])
if redis.call('ZSCORE', KEYS[1], 'deleted:' .. text) then return { 1 } end
if redis.call('ZSCORE', KEYS[1], text) then return { 0 } end
local length = redis.call('LLEN', KEYS[2])
if id <= tonumber(redis.call('HGET', KEYS[5], 'greatest') or 0) then
  -- Readers count on it that nothing comes to be down here; but it may have gone this way before.
  local at = count_above(KEYS[2], length, id)
  if at == length or tonumber(redis.call('LINDEX', KEYS[2], at)) ~= id then return { 3 } end
end
local at = insert(KEYS[2], length, id)
redis.call('ZADD', KEYS[3], id, text)
redis.call('ZREMRANGEBYRANK', KEYS[3], 0, -1 - tonumber(ARGV[4]))
deliver(KEYS[4], id, tonumber(ARGV[2]))
if ARGV[5] ~= '' then redis.pcall('PUBLISH', ARGV[5], ARGV[6]) end
if KEYS[6] and redis.call('GET', KEYS[6]) == ARGV[7] then
  redis.call('SET', KEYS[6], ARGV[8], 'KEEPTTL')
end
local hot = tonumber(ARGV[3])
local answer = { 1, redis.call('LINDEX', KEYS[2], hot) or nil }
if at > hot then answer[#answer + 1] = text end
return answer
