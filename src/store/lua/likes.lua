-- Reads the newest likes of a post, and perhaps the shards of a path among the others. `store::like` has a second form
-- in Rust, for keys at two masters of a cluster.
-- KEYS[1]  the record      KEYS[2]  the newest users who like the post     KEYS[3]  their number
-- KEYS[4…]  the shards of the path, from the root down
-- ARGV[1]  1 to read the shards    ARGV[2]  the capacity of a shard, except those of the last level
-- Returns  { { user, number, user, number, … }, 1 if there is a tree, else 0, { { the elements of a shard }, … } }, the
--          newest first, and the shards down to the first that is not closed; nil if the post has no record
if redis.call('HEXISTS', KEYS[1], 'author') == 0 then return nil end
local set, room, shards = compact_set(2), tonumber(ARGV[2]), {}
local newest = redis.call('ZREVRANGE', set.newest, 0, -1, 'WITHSCORES')
if not has_tree(set) then return { newest, 0, shards } end
if ARGV[1] == '0' then return { newest, 1, shards } end
for number, shard in ipairs(set.path) do
  local elements = redis.call('SMEMBERS', shard)
  shards[number] = elements
  if not is_closed(shard, #elements, room) then break end
end
return { newest, 1, shards }
