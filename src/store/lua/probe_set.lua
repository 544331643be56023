-- Looks members up in a compact set.
-- KEYS[1]  the newest members      KEYS[2]  the number of members
-- KEYS[3…]  for each member, the shards that may contain it, from the root down
-- ARGV[1]  the number of shards of a member    ARGV[2]  the capacity of a shard, except those of the last level
-- ARGV[3], ...  the members
-- Returns  for each member 1 if the set contains it, else 0
local shards, room = tonumber(ARGV[1]), tonumber(ARGV[2])
local found = {}
for number = 1, #ARGV - 2 do
  local first = 3 + (number - 1) * shards
  local set = compact_set_of(KEYS[1], KEYS[2], { unpack(KEYS, first, first + shards - 1) })
  found[number] = is_in_compact(set, ARGV[number + 2], room) and 1 or 0
end
return found
