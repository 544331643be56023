-- Records a profile view on a day.
-- KEYS[1…]  the shards that may contain the viewer, from the root down
-- ARGV[1]  the viewer    ARGV[2]  the capacity of a shard, except those of the last level
-- ARGV[3]  the lifetime of a shard, in seconds
-- Returns  1 if this is the viewer's first view on this day, else 0
local shard = add_to_tree(KEYS, ARGV[1], tonumber(ARGV[2]))
if not shard then return 0 end
if redis.call('SCARD', shard) == 1 then redis.call('EXPIRE', shard, ARGV[3]) end
return 1
