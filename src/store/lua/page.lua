-- Reads a page of a list, newest first, from a position whose entry need not exist any more.
-- KEYS[1]  the list: a sorted set, scored by time
-- ARGV[1]  'forward': the entries after the position; 'backward': those before it
-- ARGV[2]  the maximum number of entries
-- ARGV[3]  the position's score
-- ARGV[4]  the position's member
-- Returns  { has_previous (0 or 1), has_next (0 or 1), { member, score, member, score, … } }
-- Cost     O(log n + page); O(log² n) if the entry was removed.
local key, direction, size = KEYS[1], ARGV[1], tonumber(ARGV[2])
local score, member = ARGV[3], ARGV[4]

-- Lua compares strings by locale; Redis orders members by bytes.
local function bytes_less(a, b)
  for i = 1, math.min(#a, #b) do
    local x, y = string.byte(a, i), string.byte(b, i)
    if x ~= y then return x < y end
  end
  return #a < #b
end

-- Returns the number of entries that sort before the position, and true if the position's own entry exists.
local function locate()
  local present = redis.call('ZSCORE', key, member)
  if present and tonumber(present) == tonumber(score) then
    return redis.call('ZREVRANK', key, member), true
  end
  -- Find the first entry that sorts after the position, among the entries of this score, which are in descending order
  -- of member.
  local low = redis.call('ZCOUNT', key, '(' .. score, '+inf')
  local high = low + redis.call('ZCOUNT', key, score, score)
  while low < high do
    local middle = math.floor((low + high) / 2)
    local other = redis.call('ZREVRANGE', key, middle, middle)[1]
    if bytes_less(other, member) then high = middle else low = middle + 1 end
  end
  return low, false
end

local before, present = locate()
local first, last
if direction == 'forward' then
  first = present and before + 1 or before
  last = first + size - 1
else
  first = math.max(0, before - size)
  last = before - 1
end
local entries = {}
if first <= last then
  entries = redis.call('ZREVRANGE', key, first, last, 'WITHSCORES')
end
local total = redis.call('ZCARD', key)
return { first > 0 and 1 or 0, last + 1 < total and 1 or 0, entries }
