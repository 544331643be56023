-- Reads a page of an author's hot posts, and the summary of the cold posts.
-- `store::post_list` has a second form in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the posts: a list      KEYS[2]  the summary of cold posts: a hash
-- KEYS[3]  deleted posts that may still be in the archive: a sorted set
-- KEYS[4?] the posts' creation times: a list, only if the page is limited to a period, which requires `page_within`
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- ARGV[4]  maximum number of deleted posts on each side
-- ARGV[5]  the period's first millisecond or ''     ARGV[6]  the first millisecond after the period or ''
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, the greatest cold post or 0,
--            the number of cold posts, excluding deleted posts, { deleted posts within the page's range, in the page's
--            direction from the position }, { deleted posts on the other side of the position, nearest first } };
--            for a period, { the number of times examined, the page as above, in which the number of cold posts is 0:
--            unknown }, or nil if the creation times are unknown
local size, from, most = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

-- Length below which a list is read completely. Most lists are shorter, and a binary search would take more commands.
local SHORT = 64
local since, till = tonumber(ARGV[5]), tonumber(ARGV[6])
local ids, has_previous, has_next
if KEYS[4] then
  ids, has_previous, has_next = page_within(KEYS[1], KEYS[4], ARGV[1], size, from, since, till)
  if not ids then return nil end
else
  local head = redis.call('LRANGE', KEYS[1], 0, SHORT - 1)
  local length, first, last = #head
  if #head < SHORT then
    ids, first, last = page_of(head, ARGV[1], size, from)
  else
    length = redis.call('LLEN', KEYS[1])
    ids, first, last = page(KEYS[1], length, ARGV[1], size, from)
  end
  has_previous, has_next = first > 0, last + 1 < length
end
local cold = redis.call('HMGET', KEYS[2], 'greatest', 'count', 'latest')
local count = string.format('%.0f', math.max(0, tonumber(cold[2]) or 0))
local greatest = tonumber(cold[1]) or 0
if KEYS[4] then
  count = '0'
  if since and cold[3] and tonumber(cold[3]) < since then greatest = 0 end
end

local function up(above, upto)
  return redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. above, upto, 'LIMIT', 0, most)
end

local function down(from, above)
  return redis.call('ZREVRANGEBYSCORE', KEYS[3], from, '(' .. above, 'LIMIT', 0, most)
end

local function print(id) return string.format('%.0f', id) end

local beside, behind = {}, {}
if greatest > 0 and ARGV[1] == 'forward' then
  -- A full page above all cold posts does not depend on deleted cold posts.
  local is_above = #ids > 0 and #ids == size and tonumber(ids[#ids]) > greatest and count ~= '0'
  if not is_above then
    beside = down(print(math.min((from or greatest + 1) - 1, greatest)), has_next and ids[#ids] or '0')
  end
  if from and not has_previous then behind = up(print(from - 1), print(greatest)) end
elseif greatest > 0 then
  local below = has_previous and ids[1] and tonumber(ids[1]) or greatest + 1
  beside = up(print(from or 0), print(math.min(below - 1, greatest)))
  if from and not has_next then behind = down(print(math.min(from, greatest)), '0') end
end
local answer = { has_previous and 1 or 0, has_next and 1 or 0, ids, print(greatest), count, beside, behind }
if KEYS[4] then return { examined, answer } end
return answer
