-- Puts jobs that were put aside back into their queue.
-- KEYS[1]  those put aside: a stream     KEYS[2]  the jobs that bring posts     KEYS[3]  those that take
--          posts out
-- ARGV[1]  at most so many
-- Returns  how many
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])
for _, entry in ipairs(entries) do
  -- The first field of a job is its kind.
  redis.call('XADD', entry[2][2] == 'remove' and KEYS[3] or KEYS[2], '*', unpack(entry[2]))
  redis.call('XDEL', KEYS[1], entry[1])
end
return #entries
