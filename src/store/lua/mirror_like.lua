-- Makes a like of a post equal to its truth, and counts it. Idempotent.
-- KEYS[1]  the record      KEYS[2]  the newest users who like the post     KEYS[3]  their number
-- KEYS[4…]  the shards that may contain the user, from the root down
-- ARGV[1]  the user        ARGV[2]  1 if the user likes the post, else 0
-- ARGV[3]  the capacity of a shard, except those of the last level
-- ARGV[4]  position of the number of likes in the record's details     ARGV[5]  that of the number of likes ever
-- Returns  'done'; 'deleted' if the post is deleted; or 'missing' if it has no record
local set, user, room = compact_set(2), ARGV[1], tonumber(ARGV[3])
-- First, so that an unlike takes as many commands whether or not there is a record.
local is_removed = ARGV[2] ~= '1' and remove_from_compact(set, user, room) == 1
local there = redis.call('HMGET', KEYS[1], 'author', 'content', 'details')
if not there[1] then return 'missing' end
if not there[2] then return 'deleted' end
local likes, ever = tonumber(ARGV[4]), tonumber(ARGV[5])
if ARGV[2] == '1' then
  local number = (read_details(there[3])[ever] or 0) + 1
  if add_to_compact(set, user, string.format('%.0f', number), room) == 1 then
    change_details(KEYS[1], { [likes] = 1, [ever] = 1 })
  end
elseif is_removed then
  change_details(KEYS[1], { [likes] = -1 })
end
return 'done'
