-- Adds a member to a tree. Idempotent.
-- KEYS[1…]  the shards that may contain the member, from the root down
-- ARGV[1]  the member      ARGV[2]  the capacity of a shard, except those of the last level
-- Returns  1 if the member is new, else 0
return add_to_tree(KEYS, ARGV[1], tonumber(ARGV[2])) and 1 or 0
