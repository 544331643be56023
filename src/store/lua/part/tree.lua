-- Shared part of the scripts that store ids in a tree of shards, see `store::tree`. A path is the list of the
-- shards that may contain a member, from the root down; `room` is the capacity of each but those of the last level.

local MARK = '0'

local function is_closed(shard, count, room)
  return count >= room or redis.call('SISMEMBER', shard, MARK) == 1
end

-- Returns the shard that contains the member, or nil, and the first shard with room.
local function find_in_tree(path, member, room)
  local open
  for generation, shard in ipairs(path) do
    if redis.call('SISMEMBER', shard, member) == 1 then return shard end
    local count = redis.call('SCARD', shard)
    if not open and (count < room or generation == #path) then open = shard end
    if not is_closed(shard, count, room) then return nil, open end
  end
  return nil, open
end

-- Adds a member. Returns the shard if the member is new, else nil.
local function add_to_tree(path, member, room)
  local shard, open = find_in_tree(path, member, room)
  if shard then return nil end
  redis.call('SADD', open, member)
  return open
end

-- Removes a member. Returns true if the tree contained it.
local function remove_from_tree(path, member, room)
  local shard = find_in_tree(path, member, room)
  if not shard then return false end
  local was_full = redis.call('SCARD', shard) >= room
  redis.call('SREM', shard, member)
  if was_full and shard ~= path[#path] then redis.call('SADD', shard, MARK) end
  return true
end
