-- Writes the order and the number of members of an ordered compact set, and adds members that its tree is missing,
-- unless order or number have changed since they were read.
-- KEYS[1]  the posts of a set without a tree: a sorted set     KEYS[2]  the newest posts of a set with a tree: a list
-- KEYS[3]  their times: a list     KEYS[4]  the number of members
-- KEYS[5…?] for each missing member, the shards that may contain it, from the root down
-- ARGV[1]  the number of members as read, or '' if there was none     ARGV[2]  the new one, or '' for a set without a
-- tree
-- ARGV[3]  the number of elements of the sorted set as read, with their scores     ARGV[4]  that of posts as read
-- ARGV[5]  that of times as read     ARGV[6]  that of new entries
-- ARGV[7]  that of missing members     ARGV[8]  the number of shards of a member
-- ARGV[9]  the capacity of a shard, except those of the last level
-- ARGV[10…] the missing members; the sorted set, the posts and the times as read; the new posts, the new times
-- Returns  1 if written, 0 if the set has changed
local first = 10

-- Returns the next arguments.
local function take(count)
  local taken = {}
  for index = first, first + count - 1 do taken[#taken + 1] = ARGV[index] end
  first = first + count
  return taken
end

local function is_unchanged(stored, elements)
  if #stored ~= #elements then return false end
  for index, element in ipairs(stored) do
    if element ~= elements[index] then return false end
  end
  return true
end

local missing = take(tonumber(ARGV[7]))
local few, posts, times = take(tonumber(ARGV[3])), take(tonumber(ARGV[4])), take(tonumber(ARGV[5]))
if (redis.call('GET', KEYS[4]) or '') ~= ARGV[1] then return 0 end
if not is_unchanged(redis.call('ZRANGE', KEYS[1], 0, -1, 'WITHSCORES'), few) then return 0 end
if not is_unchanged(redis.call('LRANGE', KEYS[2], 0, -1), posts) then return 0 end
if not is_unchanged(redis.call('LRANGE', KEYS[3], 0, -1), times) then return 0 end
for index, member in ipairs(missing) do
  local shards = tonumber(ARGV[8])
  local from = 5 + (index - 1) * shards
  add_to_tree({ unpack(KEYS, from, from + shards - 1) }, member, tonumber(ARGV[9]))
end
redis.call('DEL', unpack(KEYS, 1, 4))
local count = tonumber(ARGV[6])
local new_posts, new_times = take(count), take(count)
for index, post in ipairs(new_posts) do
  if ARGV[2] == '' then
    redis.call('ZADD', KEYS[1], new_times[index], post)
  else
    redis.call('RPUSH', KEYS[2], post)
    redis.call('RPUSH', KEYS[3], new_times[index])
  end
end
if ARGV[2] ~= '' then redis.call('SET', KEYS[4], ARGV[2]) end
return 1
