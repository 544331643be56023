-- Makes the mirror of a follow equal to its truth. Idempotent.
-- KEYS[1]  the followers of the user: a sorted set, scored by time      KEYS[2]  those who have requested to follow the
--          user: the same      KEYS[3]  the user's record
-- ARGV[1]  the follower     ARGV[2]  'following', 'requested' or ''     ARGV[3]  the time or ''
-- Returns  1 if the account of the user is private, else 0
local function write(list, at)
  local before = redis.call('ZSCORE', list, ARGV[1])
  if at then redis.call('ZADD', list, at, ARGV[1]) else redis.call('ZREM', list, ARGV[1]) end
  return redis.call('ZSCORE', list, ARGV[1]) ~= before
end

local has_changed = write(KEYS[1], ARGV[2] == 'following' and ARGV[3])
has_changed = write(KEYS[2], ARGV[2] == 'requested' and ARGV[3]) or has_changed
if has_changed then signal(KEYS[1], 'relation ' .. ARGV[1]) end
return redis.call('HGET', KEYS[3], 'private') == '1' and 1 or 0
