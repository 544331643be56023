-- Adds a member to a compact set. A member that the set contains keeps its time.
-- KEYS[1]  the newest members      KEYS[2]  the number of members
-- KEYS[3…]  the shards that may contain the member, from the root down
-- ARGV[1]  the member             ARGV[2]  the time    ARGV[3]  the capacity of a shard, except those of the last level
-- Returns  1 if the set changed, else 0
return add_to_compact(compact_set(1), ARGV[1], ARGV[2], tonumber(ARGV[3]))
