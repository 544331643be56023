-- Finds keys of a wrong type, and elements that are not of their form: members of sets are ids, those of sorted sets
-- have whole scores, and strings are numbers. Elements of lists are not looked at. A repair loses nothing that can be
-- read: what is below a shard that was closed stays in reach, and a set with a tree keeps a number of members, though
-- one that is to be corrected.
-- KEYS[1…]  the keys
-- ARGV[1]   1 to mend what is wrong, else 0        ARGV[2]  the capacity of a shard, except those of the last level
-- ARGV[3…]  the type of each key: `list`, `set`; `string`, the number of members, whose next key is the root shard; or
--           `zset` and the score in place of one that cannot be read
-- Returns   { the number of wrong keys and elements, { 1 if the key has others, else 0; … } }
local repair, room = ARGV[1] == '1', tonumber(ARGV[2])
local GREATEST = 2 ^ 53
local wrong, others = 0, {}

-- Returns true if an element is an id: a number without a sign, and without zeros before it.
local function is_id(element) return #element < 20 and string.match(element, '^[1-9]%d*$') end

local function mend(...)
  wrong = wrong + 1
  if repair then redis.call(...) end
end

local function has_root(index) return redis.call('EXISTS', KEYS[index + 1]) == 1 end

-- Removes the number of members, or replaces it if there is a tree.
local function mend_number(index)
  mend('UNLINK', KEYS[index])
  if repair and has_root(index) then redis.call('SET', KEYS[index], '0') end
end

local check = {
  list = function() end,
  string = function(index)
    local number = redis.call('GET', KEYS[index])
    if number ~= '0' and not (is_id(number) and #number < 16) then mend_number(index) end
  end,
  set = function(index)
    local key = KEYS[index]
    local was_full = redis.call('SCARD', key) >= room
    local before = wrong
    for _, member in ipairs(redis.call('SMEMBERS', key)) do
      if member ~= MARK and not is_id(member) then mend('SREM', key, member) end
    end
    if repair and was_full and wrong > before then redis.call('SADD', key, MARK) end
  end,
  zset = function(index, default)
    local key = KEYS[index]
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for at = 1, #all, 2 do
      local member, score = all[at], tonumber(all[at + 1])
      local is_readable = score and math.abs(score) <= GREATEST
      if not is_id(member) then
        mend('ZREM', key, member)
      elseif not is_readable or score ~= math.floor(score) then
        mend('ZADD', key, is_readable and string.format('%.0f', math.floor(score)) or default, member)
      end
    end
  end,
}

-- Removes a key of a wrong type. Shards may be below one that is part of a tree.
local function mend_type(index, right)
  if right == 'string' then return mend_number(index) end
  mend('UNLINK', KEYS[index])
  local is_small = ARGV[index + 1] == 'string' and redis.call('EXISTS', KEYS[index - 1]) == 0
  if repair and right == 'set' and not is_small then redis.call('SADD', KEYS[index], MARK) end
end

for index, key in ipairs(KEYS) do
  local right, default = string.match(ARGV[index + 2], '^(%a+) ?(.*)$')
  local found = redis.call('TYPE', key).ok
  others[index] = 0
  if found == right then
    check[right](index, default)
    others[index] = redis.call('EXISTS', key)
  elseif found ~= 'none' then
    mend_type(index, right)
  end
end
return { wrong, others }
