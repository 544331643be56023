-- Puts failed jobs back into their queues.
-- KEYS[1]  the failed jobs: a stream     KEYS[2]  the push jobs     KEYS[3]  the jobs that remove posts
-- KEYS[4]  posts not yet pushed to all timelines: a sorted set
-- KEYS[5]  number of jobs in the stream by author     KEYS[6]  held-back jobs     KEYS[7]  authors with held-back jobs
-- ARGV[1]  maximum number of jobs
-- Returns  the number of requeued jobs
local keys = { stream = KEYS[2], ready = KEYS[5], held = KEYS[6], turns = KEYS[7] }
local entries = redis.call('XRANGE', KEYS[1], '-', '+', 'COUNT', ARGV[1])
for _, entry in ipairs(entries) do
  -- The first fields of a job are its kind, its post and its author.
  local kind, post, author = entry[2][2], entry[2][4], entry[2][6]
  if kind == 'deliver' then
    redis.call('ZADD', KEYS[4], post, post)
    add_in_turn(keys, author, post)
  else
    redis.call('XADD', kind == 'remove' and KEYS[3] or KEYS[2], '*', unpack(entry[2]))
  end
  redis.call('XDEL', KEYS[1], entry[1])
end
return #entries
