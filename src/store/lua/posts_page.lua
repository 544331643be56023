-- A page of an author's posts, as far as they are in the list, and what became cold of them.
-- KEYS[1]  the posts: a list      KEYS[2]  what became cold: a hash
-- KEYS[3]  deleted posts that the archive may still have: a sorted set
-- ARGV[1]  'forward' or 'backward'     ARGV[2]  size
-- ARGV[3]  the post below or above which the page lies, or '' for the first or the last page
-- ARGV[4]  at most so many of the deleted
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { the posts }, the greatest that became cold or 0,
--            how many became cold and were not deleted, { those of the deleted among which the page lies, in its
--            direction from the position on }, { those on the other side of the position, away from it } }
local size, from, most = tonumber(ARGV[2]), tonumber(ARGV[3]), ARGV[4]

-- Most lists are this short, and read whole: a search in them would take more commands.
local SHORT = 64
local length, ids, first, last
local head = redis.call('LRANGE', KEYS[1], 0, SHORT - 1)
if #head < SHORT then
  length = #head
  ids, first, last = page_of(head, ARGV[1], size, from)
else
  length = redis.call('LLEN', KEYS[1])
  ids, first, last = page(KEYS[1], length, ARGV[1], size, from)
end
local has_previous, has_next = first > 0, last + 1 < length
local cold = redis.call('HMGET', KEYS[2], 'greatest', 'count')
local count = string.format('%.0f', math.max(0, tonumber(cold[2]) or 0))
local greatest = tonumber(cold[1]) or 0

local function up(above, upto)
  return redis.call('ZRANGEBYSCORE', KEYS[3], '(' .. above, upto, 'LIMIT', 0, most)
end

local function down(from, above)
  return redis.call('ZREVRANGEBYSCORE', KEYS[3], from, '(' .. above, 'LIMIT', 0, most)
end

local function print(id) return string.format('%.0f', id) end

local beside, behind = {}, {}
if greatest > 0 and ARGV[1] == 'forward' then
  -- A page that is full above all that is cold needs nothing of it.
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
return {
  has_previous and 1 or 0, has_next and 1 or 0, ids, cold[1] or '0', count, beside, behind
}
