-- Enters a post in a list of the posts that refer to another post, or removes it. Idempotent.
-- KEYS[1]  the record of the post referred to      KEYS[2]  the list: a list
-- ARGV[1]  the post that refers to it    ARGV[2]  1 to enter it, 0 to remove it
-- ARGV[3]  1 if it counts      ARGV[4]  position of the count in the record's details
-- Returns  'done'; 'deleted' if the post referred to is deleted; or 'missing' if it has no record
local there = redis.call('HMGET', KEYS[1], 'author', 'content')
if not there[1] then return 'missing' end
if not there[2] then return 'deleted' end
local id, length = tonumber(ARGV[1]), redis.call('LLEN', KEYS[2])
local change = 0
if ARGV[2] == '1' then
  local _, is_new = insert(KEYS[2], length, id)
  if is_new then change = 1 end
else
  local at = count_above(KEYS[2], length, id)
  -- Binary search, because LREM would scan the whole list for a post that is not there.
  if at < length and tonumber(redis.call('LINDEX', KEYS[2], at)) == id then
    change = -redis.call('LREM', KEYS[2], at > length / 2 and -1 or 1, ARGV[1])
  end
end
if change ~= 0 then change_details(KEYS[1], tonumber(ARGV[4]), ARGV[3] == '1' and change or 0) end
return 'done'
