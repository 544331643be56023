-- Shared part of the scripts that store post ids in a list, in descending order. Ids are compared as numbers, which is
-- exact below 2^53. Only the first `length` elements of a list are ids. A colon and more text may follow an id.

-- Returns the id of an element.
local function id_of(element)
  return tonumber(element) or tonumber(string.match(element, '^%d+'))
end

-- Counts the ids that are greater than `id`.
local function count_above(key, length, id)
  if length == 0 or id_of(redis.call('LINDEX', key, 0)) <= id then return 0 end
  local low, high = 1, length
  while low < high do
    local middle = math.floor((low + high) / 2)
    if id_of(redis.call('LINDEX', key, middle)) > id then low = middle + 1 else high = middle end
  end
  return low
end

-- Inserts an id at its position, unless the list contains it, as `text` if given. Returns the id's index, and true if
-- the id is new.
local function insert(key, length, id, text)
  local at = count_above(key, length, id)
  local follower = redis.call('LINDEX', key, at)
  if at < length and id_of(follower) == id then return at, false end
  text = text or string.format('%.0f', id)
  if at == 0 then redis.call('LPUSH', key, text)
  elseif follower then redis.call('LINSERT', key, 'BEFORE', follower, text)
  else redis.call('RPUSH', key, text) end
  return at, true
end

-- Returns a page of the ids: the `size` ids next to `from`, below it ('forward') or above it ('backward'); without
-- `from`, the first or the last `size` ids. Also returns the indexes of the page's first and last ids.
local function page(key, length, direction, size, from)
  local first, last
  if direction == 'forward' then
    first = from and count_above(key, length, from - 1) or 0
    last = math.min(first + size, length) - 1
  else
    last = (from and count_above(key, length, from) or length) - 1
    first = math.max(0, last + 1 - size)
  end
  local ids = {}
  if first <= last then ids = redis.call('LRANGE', key, first, last) end
  return ids, first, last
end

-- Like `page`, but for a list whose elements have all been read.
local function page_of(list, direction, size, from)
  local function above(id)
    local count = 0
    while count < #list and tonumber(list[count + 1]) > id do count = count + 1 end
    return count
  end
  local first, last
  if direction == 'forward' then
    first = from and above(from - 1) or 0
    last = math.min(first + size, #list) - 1
  else
    last = (from and above(from) or #list) - 1
    first = math.max(0, last + 1 - size)
  end
  local ids = {}
  for index = first, last do ids[#ids + 1] = list[index + 1] end
  return ids, first, last
end
