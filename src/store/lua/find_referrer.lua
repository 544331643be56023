-- Finds the entry of a post in the lists of the posts that refer to another.
-- KEYS[1]  the record of the post referred to      KEYS[2…4] its listed, limited and withheld entries: lists
-- ARGV[1]  the post that refers to it
-- Returns  the number of the first list that has it, from 1; 0 if none has it; -1 if the post referred to has no record
if redis.call('HEXISTS', KEYS[1], 'author') == 0 then return -1 end
local id = tonumber(ARGV[1])
for number = 1, 3 do
  local key = KEYS[number + 1]
  local length = redis.call('LLEN', key)
  local at = count_above(key, length, id)
  if at < length and id_of(redis.call('LINDEX', key, at)) == id then return number end
end
return 0
