-- Writes the creation times of an author's hot posts, unless the posts have changed since they were read.
-- KEYS[1]  the posts: a list      KEYS[2]  their creation times: a list
-- ARGV[1]  the number of posts    ARGV[2…] the posts, then the time of each, '' if unknown
-- Returns  1 if written, 0 if the posts have changed
local count = tonumber(ARGV[1])
local ids = redis.call('LRANGE', KEYS[1], 0, -1)
if #ids ~= count then return 0 end
for index, id in ipairs(ids) do
  if id ~= ARGV[1 + index] then return 0 end
end
redis.call('DEL', KEYS[2])
-- A command takes a limited number of arguments from a table.
for first = 1, count, 1000 do
  local last = math.min(count, first + 999)
  redis.call('RPUSH', KEYS[2], unpack(ARGV, 1 + count + first, 1 + count + last))
end
return 1
