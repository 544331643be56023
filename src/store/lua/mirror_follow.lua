-- Makes the mirror of a follow equal to its truth, unless the user has been deleted: then there is no mirror.
-- Idempotent.
-- KEYS[1]  the followers of the user: a sorted set, scored by time      KEYS[2]  those who have requested to follow the
--          user: the same      KEYS[3]  the user's record      KEYS[4]  the revoked items
-- ARGV[1]  the follower     ARGV[2]  'following', 'requested' or ''     ARGV[3]  the time or ''
-- Returns  the account of the user: 'public', 'private', 'inactive' or 'deleted'
local is_deleted = redis.call('ZSCORE', KEYS[4], 'user')

local function write(list, at)
  local before = redis.call('ZSCORE', list, ARGV[1])
  if at and not is_deleted then redis.call('ZADD', list, at, ARGV[1]) else redis.call('ZREM', list, ARGV[1]) end
  return redis.call('ZSCORE', list, ARGV[1]) ~= before
end

local has_changed = write(KEYS[1], ARGV[2] == 'following' and ARGV[3])
has_changed = write(KEYS[2], ARGV[2] == 'requested' and ARGV[3]) or has_changed
if has_changed then signal(KEYS[1], 'relation ' .. ARGV[1]) end
if is_deleted then return 'deleted' end
local record = redis.call('HMGET', KEYS[3], 'private', 'inactive_username')
if record[2] then return 'inactive' end
return record[1] == '1' and 'private' or 'public'
