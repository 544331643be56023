-- Merges posts into a timeline, if its nonce is still the expected nonce. The first merge of the posts of a new follow,
-- and the first pull under a later strategy, reset the timeline.
-- KEYS[1]   the timeline              KEYS[2]  posts removed from it: a sorted set
-- KEYS[3]   the follows whose next merge resets the timeline: a sorted set
-- ARGV[1]   its nonce, or '' for any
-- ARGV[2]   the capacity of a timeline
-- ARGV[3]   the mark above which the posts are complete; 0 if no post is missing
-- ARGV[4]   the generation of the strategy in force    ARGV[5]  mark up to which everything has been pulled;
--           '' if this is not a pull    ARGV[6]  '1' if everything was pulled, from all sources
-- ARGV[7]   the followed user, if the posts are those of a follow, else ''
-- ARGV[8]   '1' if reads pull the followed user's posts
-- ARGV[9]   'forward' or 'backward'   ARGV[10]  size   ARGV[11]  post or '': a page of the timeline
-- ARGV[12…] the posts without duplicates, in descending order of id
-- Returns   { floor, { the page }, the least post that a follow has added without a reset, although readers may have
--           passed it, or nil }, or nil if the timeline does not exist or has another nonce. After such a post, the
--           next merge of the follow resets the timeline, unless `end_merge` finds that no reader has passed it.
local key, capacity, cut = KEYS[1], tonumber(ARGV[2]), tonumber(ARGV[3])
local seal = read_seal(key)
local followee = ARGV[7]
local is_reset = followee ~= '' and end_await(KEYS[3], followee)
if not seal or (ARGV[1] ~= '' and seal.nonce ~= ARGV[1]) then return nil end
local length = redis.call('LLEN', key) - 1

local mark = tonumber(ARGV[5])
if mark then
  local is_filled = seal.generation == ARGV[4] and seal.mark
  -- While servers with two strategies run, those with the earlier one change nothing.
  local is_earlier = seal.mark and tonumber(ARGV[4]) < tonumber(seal.generation)
  if is_filled then seal.mark = math.max(seal.mark, mark)
  elseif ARGV[6] == '1' and not is_earlier then
    is_reset = is_reset or seal.mark
    seal.generation, seal.mark = ARGV[4], mark
  end
  redis.call('LSET', key, -1, print_seal(seal))
end
if cut >= seal.floor and cut > 0 then
  length = count_above(key, length, cut)
  keep(key, seal, length, cut + 1)
end

local ids, least = {}, nil
for index = 12, #ARGV do
  local id = tonumber(ARGV[index])
  if id < seal.floor then break end
  ids[#ids + 1] = id
end
if #ids > 0 then
  -- Remove the part of the timeline from the least new post upwards, and put it back merged with the new posts.
  local count = count_above(key, length, ids[#ids] - 1)
  local there = {}
  if count > 0 then there = redis.call('LRANGE', key, 0, count - 1) end
  local merged, one, other = {}, 1, 1
  -- No reader has passed a post that reads pull later, nor any post of a timeline that is not filled.
  local passed_to = seal.mark and ARGV[8] ~= '1' and math.huge or seal.mark or 0
  while one <= count or other <= #ids do
    local old, new = tonumber(there[one]) or -1, ids[other] or -1
    if new > old and new <= passed_to then least = new end
    if old >= new then one = one + 1 end
    if new >= old then other = other + 1 end
    merged[#merged + 1] = string.format('%.0f', math.max(old, new))
  end
  if #merged > count then
    redis.call('LTRIM', key, count, -1)
    local last = #merged
    while last > 0 do
      local pushed = {}
      for index = last, math.max(1, last - 999), -1 do pushed[#pushed + 1] = merged[index] end
      redis.call('LPUSH', key, unpack(pushed))
      last = last - #pushed
    end
    length = length + #merged - count
    -- A pull needs no signal, because the reader receives the result.
    if not mark then signal(key, 'timeline') end
    trim(key, seal, length, capacity)
  end
end
length = redis.call('LLEN', key) - 1
local late = false
if is_reset then reset(key, KEYS[2])
elseif followee ~= '' and least then
  late = string.format('%.0f', least)
  await_merge(key, KEYS[3], 'late:' .. followee, clock())
end
local found = page(key, length, ARGV[9], tonumber(ARGV[10]), tonumber(ARGV[11]))
return { string.format('%.0f', seal.floor), found, late }
