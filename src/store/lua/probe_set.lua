-- Looks members up in a compact set.
-- KEYS[1]  the newest members      KEYS[2]  the number of members
-- KEYS[3], ...  for each member, the shards that may contain it, from the root down
-- ARGV[1]  the number of shards of a member    ARGV[2]  the capacity of a shard, except those of the last level
-- ARGV[3], ...  the members
-- Returns  for each member 1 if the set contains it, else 0
local shards, room = tonumber(ARGV[1]), tonumber(ARGV[2])
local is_tree = redis.call('EXISTS', KEYS[2]) == 1
local found = {}
for number = 1, #ARGV - 2 do
  local member, first = ARGV[number + 2], 3 + (number - 1) * shards
  local has
  if is_tree then has = find_in_tree({ unpack(KEYS, first, first + shards - 1) }, member, room)
  else has = redis.call('ZSCORE', KEYS[1], member) end
  found[number] = has and 1 or 0
end
return found
