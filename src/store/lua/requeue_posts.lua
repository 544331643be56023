-- Puts posts that could not be archived back into the queue.
-- KEYS[1]  posts that could not be archived: a hash      KEYS[2]  the queued posts: a list
-- ARGV[1]  maximum number of posts
-- Returns  the number of requeued posts
local found = redis.call('HRANDFIELD', KEYS[1], ARGV[1], 'WITHVALUES')
for index = 1, #found, 2 do
  redis.call('RPUSH', KEYS[2], found[index + 1])
  redis.call('HDEL', KEYS[1], found[index])
end
return #found / 2
