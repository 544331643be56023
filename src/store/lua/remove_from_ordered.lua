-- Removes a post from an ordered compact set.
-- KEYS[1]  the newest posts: a list     KEYS[2]  their times: a list     KEYS[3]  the number of members
-- KEYS[4…]  the shards that may contain the post, from the root down
-- ARGV[1]  the post        ARGV[2]  the capacity of a shard, except those of the last level
-- Returns  1 if the set changed, else 0
return remove_from_compact(ordered_set_of(KEYS[1], KEYS[2], KEYS[3], { unpack(KEYS, 4) }), ARGV[1], tonumber(ARGV[2]))
