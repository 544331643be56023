-- Puts jobs that were put aside back into their queue.
-- KEYS[1]  those put aside: a stream     KEYS[2]  the jobs that bring posts     KEYS[3]  those that take
--          posts out               KEYS[4]  posts that are still to be brought to timelines: a sorted set
-- ARGV[1]  at most so many
-- Returns  how many
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])
for _, entry in ipairs(entries) do
  -- The first two fields of a job are its kind and its post.
  local kind, post = entry[2][2], entry[2][4]
  if kind == 'deliver' then redis.call('ZADD', KEYS[4], post, post) end
  redis.call('XADD', kind == 'remove' and KEYS[3] or KEYS[2], '*', unpack(entry[2]))
  redis.call('XDEL', KEYS[1], entry[1])
end
return #entries
