-- Removes finished posts from a mover's list.
-- KEYS[1]  the mover's posts: a list      KEYS[2]  total number of posts archived
-- KEYS[3]  posts that could not be archived: a hash
-- ARGV[1]  the number of archived posts, which come first
-- ARGV[2]  the number of posts that could not be archived, which come next
-- ARGV[3…] the posts, as stored in the list
-- Returns  the number of archived posts that were in the list
local archived, failed = tonumber(ARGV[1]), tonumber(ARGV[2])
local count = 0
for index = 3, #ARGV do
  local was_there = redis.call('LREM', KEYS[1], 1, ARGV[index])
  if index - 2 <= archived then
    count = count + was_there
  elseif index - 2 <= archived + failed and was_there == 1 then
    redis.call('HSET', KEYS[3], string.match(ARGV[index], '^[^:]*'), ARGV[index])
  end
end
redis.call('INCRBY', KEYS[2], count)
return count
