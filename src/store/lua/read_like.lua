-- Reads a user's like of a post, atomically with the state of the account: a user whose account is inactive likes
-- nothing that others see.
-- KEYS[1]  the user's record      KEYS[2]  the posts that the user likes, if they are few: a sorted set
-- KEYS[3]  their number
-- KEYS[4…]  the shards that may contain the post, from the root down
-- ARGV[1]  the post              ARGV[2]  the capacity of a shard, except those of the last level
-- Returns  1 if the user likes the post, else 0
if redis.call('HEXISTS', KEYS[1], 'inactive_username') == 1 then return 0 end
local set = ordered_set_of(KEYS[2], nil, nil, KEYS[3], { unpack(KEYS, 4) })
return is_in_compact(set, ARGV[1], tonumber(ARGV[2])) and 1 or 0
