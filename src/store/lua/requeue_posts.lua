-- Puts posts that could not be archived back among those that wait.
-- KEYS[1]  posts that could not be archived: a hash      KEYS[2]  the posts that wait: a list
-- ARGV[1]  about how many at most
-- Returns  how many
local found = redis.call('HSCAN', KEYS[1], 0, 'COUNT', ARGV[1])[2]
for index = 1, #found, 2 do
  redis.call('RPUSH', KEYS[2], found[index + 1])
  redis.call('HDEL', KEYS[1], found[index])
end
return #found / 2
