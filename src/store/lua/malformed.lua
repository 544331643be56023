-- Finds keys of a wrong type, and elements that are not of their form: members of sets are numbers, those of sorted
-- sets have whole scores, and strings are numbers. Elements of lists are not looked at.
-- KEYS[1…]  the keys
-- ARGV[1]   1 to remove what is wrong, else 0      ARGV[2…]  the type of each key
-- Returns   { the number of wrong keys and elements, { 1 if the key has others, else 0; … } }
local repair = ARGV[1] == '1'
local wrong, others = 0, {}

-- Returns true if an element is an id: a number without a sign, and without zeros before it.
local function is_id(element) return #element < 20 and string.match(element, '^[1-9]%d*$') end

local function remove(...)
  wrong = wrong + 1
  if repair then redis.call(...) end
end

local check = {
  list = function() end,
  string = function(key)
    if not string.match(redis.call('GET', key), '^%d+$') then remove('UNLINK', key) end
  end,
  -- The mark of a closed shard is 0.
  set = function(key)
    for _, member in ipairs(redis.call('SMEMBERS', key)) do
      if member ~= '0' and not is_id(member) then remove('SREM', key, member) end
    end
  end,
  zset = function(key)
    local all = redis.call('ZRANGE', key, 0, -1, 'WITHSCORES')
    for index = 1, #all, 2 do
      local is_right = is_id(all[index]) and string.match(all[index + 1], '^%-?%d+$')
      if not is_right then remove('ZREM', key, all[index]) end
    end
  end,
}

for index, key in ipairs(KEYS) do
  local right, found = ARGV[index + 1], redis.call('TYPE', key).ok
  others[index] = 0
  if found == right then
    check[right](key)
    others[index] = redis.call('EXISTS', key)
  elseif found ~= 'none' then
    remove('UNLINK', key)
  end
end
return { wrong, others }
