-- Adds a post to an ordered compact set. A post that the set contains keeps its time and takes no token.
-- KEYS[1]  the posts of a set without a tree: a sorted set     KEYS[2]  the newest posts of a set with a tree: a list
-- KEYS[3]  their times: a list     KEYS[4]  the number of members     KEYS[5]  the bucket
-- KEYS[6…] the shards that may contain the post, from the root down
-- ARGV[1]  the post        ARGV[2]  the time         ARGV[3]  the capacity of a shard, except those of the last level
-- ARGV[4]  the greatest number of members, or '' if there is none
-- ARGV[5]  now, in milliseconds, or '' if the change takes no token     ARGV[6]  refill interval of one token, in
--          microseconds    ARGV[7]  capacity of the bucket     ARGV[8]  number of tokens to take
-- Returns  { 'added' }, { 'present' } (as before), { 'full' }, or { 'throttled', microseconds until there is a token }
local set = ordered_set_of(KEYS[1], KEYS[2], KEYS[3], KEYS[4], { unpack(KEYS, 6) })
local post, room, most = ARGV[1], tonumber(ARGV[3]), tonumber(ARGV[4])
if is_in_compact(set, post, room) then return { 'present' } end
if most and count_of_compact(set) >= most then return { 'full' } end
local wait = throttle(KEYS[5], 5)
if wait > 0 then return { 'throttled', string.format('%.0f', wait) } end
add_to_compact(set, post, ARGV[2], room)
return { 'added' }
