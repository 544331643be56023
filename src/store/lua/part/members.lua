-- Shared part of the scripts that change or look up members of compact sets, see `store::compact` and `store::ordered`:
-- an order of the newest members, and once there are more than 128, a tree of all members and their number. A set has
-- the keys `count` and `path`, those of the number and of the shards that may contain a member, and an `order`, a table
-- of functions of the set:
--   length(set)             returns the number of members in the order
--   members(set)            returns these members, of a set without a tree
--   contains(set, member)   returns true if the order of a set without a tree contains a member
--   add(set, member, at)    puts a new member in its place, or leaves it out if the order is full of newer members
--   remove(set, member)     removes a member; returns 1 if the order contained it, else 0
--   grow(set)               returns the order of a set with a tree, if it is another one

-- The greatest number of members of a set without a tree.
local NEWEST = 128

local function has_tree(set) return redis.call('EXISTS', set.count) == 1 end

-- Returns the number of members.
local function count_of_compact(set)
  return tonumber(redis.call('GET', set.count) or set.order.length(set))
end

-- Returns true if the set contains a member.
local function is_in_compact(set, member, room)
  if has_tree(set) then return find_in_tree(set.path, member, room) ~= nil end
  return set.order.contains(set, member)
end

-- Adds a member; one that the set contains keeps its time. Returns 1 if the set changed, else 0.
local function add_to_compact(set, member, at, room)
  if has_tree(set) then
    if not add_to_tree(set.path, member, room) then return 0 end
    redis.call('INCR', set.count)
  else
    if set.order.contains(set, member) then return 0 end
    if set.order.length(set) >= NEWEST then
      -- The root has room for all of them.
      local members = set.order.members(set)
      redis.call('SADD', set.path[1], member, unpack(members))
      redis.call('SET', set.count, #members + 1)
      if set.order.grow then set.order = set.order.grow(set) end
    end
  end
  set.order.add(set, member, at)
  return 1
end

-- Removes a member. Returns 1 if the set changed, else 0. The order is not filled up, since the times of the members
-- that it lacks are not stored.
local function remove_from_compact(set, member, room)
  local was_ordered = set.order.remove(set, member)
  if not has_tree(set) then return was_ordered end
  if not remove_from_tree(set.path, member, room) then return 0 end
  if redis.call('DECR', set.count) == 0 then redis.call('DEL', set.count) end
  return 1
end
