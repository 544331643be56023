-- Makes the entry of a post in the lists of the posts that refer to another one of this kind, or removes it. Counts the
-- entries of the first list. Idempotent.
-- KEYS[1]  the record of the post referred to      KEYS[2…4] its listed, limited and withheld entries: lists
-- ARGV[1]  the post that refers to it      ARGV[2]  number of the list that is to have it, from 1; 0 for none
-- ARGV[3]  its element there               ARGV[4]  position of the count in the record's details
-- Returns  'done'; 'deleted' if the post referred to is deleted; or 'missing' if it has no record
local there = redis.call('HMGET', KEYS[1], 'author', 'content')
if not there[1] then return 'missing' end
if not there[2] then return 'deleted' end
local id, wanted = tonumber(ARGV[1]), tonumber(ARGV[2])
local is_changed, change = false, 0
for number = 1, 3 do
  local key = KEYS[number + 1]
  local length = redis.call('LLEN', key)
  local changed = 0
  if number == wanted then
    local _, is_new = insert(key, length, id, ARGV[3])
    if is_new then changed = 1 end
  elseif length > 0 then
    -- Binary search, because LREM would scan the whole list for a post that is not there.
    local at = count_above(key, length, id)
    local element = redis.call('LINDEX', key, at)
    if at < length and id_of(element) == id then
      changed = -redis.call('LREM', key, at > length / 2 and -1 or 1, element)
    end
  end
  if changed ~= 0 then is_changed = true end
  if number == 1 then change = changed end
end
-- A change of kind raises the version as well: otherwise, a mover would keep the old kind.
if is_changed then change_details(KEYS[1], { [tonumber(ARGV[4])] = change }) end
return 'done'
