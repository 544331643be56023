-- Reads all members of a compact set, unless there are too many.
-- KEYS[1]  the newest members      KEYS[2]  the number of members
-- KEYS[3…]  the shards of the first levels of the tree, by level
-- ARGV[1]  the maximum number of members      ARGV[2]  the capacity of a shard, except those of the last level
-- ARGV[3]  the number of children of a shard
-- Returns  the members in no particular order; nil if there are too many
local most, room, branches = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local set = compact_set(1)
if not has_tree(set) then return redis.call('ZRANGE', set.newest, 0, -1) end
if tonumber(redis.call('GET', set.count)) > most then return nil end

local members = {}

-- Adds the members of a shard and of those below it. `width` is the number of shards on its level, and `before` that of
-- shards on the levels before. Returns false if there are members below the given levels.
local function add(before, width, number)
  local shard = set.path[before + number + 1]
  if not shard then return false end
  local found = redis.call('SMEMBERS', shard)
  for _, member in ipairs(found) do
    if member ~= MARK then members[#members + 1] = member end
  end
  if not is_closed(shard, #found, room) then return true end
  for branch = 0, branches - 1 do
    if not add(before + width, width * branches, number + branch * width) then return false end
  end
  return true
end

if not add(0, 1, 0) then return nil end
return members
