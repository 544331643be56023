-- Removes a post from an ordered compact set.
-- KEYS[1]  the posts of a set without a tree: a sorted set     KEYS[2]  the newest posts of a set with a tree: a list
-- KEYS[3]  their times: a list     KEYS[4]  the number of members
-- KEYS[5…] the shards that may contain the post, from the root down
-- ARGV[1]  the post        ARGV[2]  the capacity of a shard, except those of the last level
-- Returns  1 if the set changed, else 0
local set = ordered_set_of(KEYS[1], KEYS[2], KEYS[3], KEYS[4], { unpack(KEYS, 5) })
return remove_from_compact(set, ARGV[1], tonumber(ARGV[2]))
