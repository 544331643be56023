-- Removes the posts of a turn from a mover's list.
-- KEYS[1]  the mover's posts: a list      KEYS[2]  total number of posts archived
-- KEYS[3]  posts that could not be archived: a hash
-- KEYS[4]  the postponed posts by the time from which they are due: a sorted set
-- ARGV[1]  the number of archived posts, which come first
-- ARGV[2]  the number of posts that could not be archived, which come next
-- ARGV[3]  the number of posts to postpone, which come next      ARGV[4]  the time from which they are due
-- ARGV[5…] the posts, as stored in the list
-- Returns  the number of archived posts that were in the list
local archived, failed, postponed = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count = 0
for index = 5, #ARGV do
  local number = index - 4
  local was_there = redis.call('LREM', KEYS[1], 1, ARGV[index])
  if number <= archived then
    count = count + was_there
  elseif number <= archived + failed then
    if was_there == 1 then redis.call('HSET', KEYS[3], string.match(ARGV[index], '^[^:]*'), ARGV[index]) end
  elseif number <= archived + failed + postponed then
    if was_there == 1 then redis.call('ZADD', KEYS[4], ARGV[4], ARGV[index]) end
  end
end
redis.call('INCRBY', KEYS[2], count)
return count
