-- Writes what is kept beside an author's hot posts, unless the posts have changed since they were read: their creation
-- times, and those of them that only followers can see.
-- KEYS[1]  the posts: a list      KEYS[2]  their creation times: a list
-- KEYS[3]  the summary of cold posts: a hash, whose latest time may come from wrong times
-- KEYS[4]  those of the posts that only followers can see: a sorted set
-- ARGV[1]  the number of posts
-- ARGV[2…] the posts, then the time of each, then for each 1 if only followers can see it
-- Returns  1 if written, 0 if the posts have changed
local count = tonumber(ARGV[1])
local ids = redis.call('LRANGE', KEYS[1], 0, -1)
if #ids ~= count then return 0 end
for index, id in ipairs(ids) do
  if id ~= ARGV[1 + index] then return 0 end
end
redis.call('DEL', KEYS[2], KEYS[4])
for index, id in ipairs(ids) do
  local time = ARGV[1 + count + index]
  redis.call('RPUSH', KEYS[2], element(tonumber(id), tonumber(time)))
  if ARGV[1 + 2 * count + index] == '1' then redis.call('ZADD', KEYS[4], time, id) end
end
redis.call('HDEL', KEYS[3], 'latest')
return 1
