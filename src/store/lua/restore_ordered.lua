-- Writes the order and the number of members of an ordered compact set, unless they have changed since they were read.
-- KEYS[1]  the newest posts: a list     KEYS[2]  their times: a list     KEYS[3]  the number of members
-- ARGV[1]  the number of members as read, or '' if there was none     ARGV[2]  the new one, or '' for none
-- ARGV[3]  the number of posts as read     ARGV[4]  the number of times as read     ARGV[5]  the number of new entries
-- ARGV[6…] the posts as read, the times as read, the new posts, the new times
-- Returns  1 if written, 0 if the set has changed
local first = 6

-- Returns the next arguments.
local function take(count)
  local taken = {}
  for index = first, first + count - 1 do taken[#taken + 1] = ARGV[index] end
  first = first + count
  return taken
end

local function is_unchanged(key, elements)
  local stored = redis.call('LRANGE', key, 0, -1)
  if #stored ~= #elements then return false end
  for index, element in ipairs(stored) do
    if element ~= elements[index] then return false end
  end
  return true
end

local posts, times = take(tonumber(ARGV[3])), take(tonumber(ARGV[4]))
if (redis.call('GET', KEYS[3]) or '') ~= ARGV[1] then return 0 end
if not is_unchanged(KEYS[1], posts) or not is_unchanged(KEYS[2], times) then return 0 end
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3])
for _, key in ipairs({ KEYS[1], KEYS[2] }) do
  for _, element in ipairs(take(tonumber(ARGV[5]))) do redis.call('RPUSH', key, element) end
end
if ARGV[2] ~= '' then redis.call('SET', KEYS[3], ARGV[2]) end
return 1
