-- Gives back all of a worker's jobs, so that another worker takes them over at once.
-- KEYS[1]  the jobs: a stream
-- ARGV[1]  the group       ARGV[2]  the worker     ARGV[3]  the consumer that owns jobs without a worker
-- Returns  the number of jobs given back
local DAY = 86400000
local count = 0
-- Without a group, there is nothing to give back.
local all = redis.pcall('XPENDING', KEYS[1], ARGV[1], '-', '+', 10000, ARGV[2])
if all.err then return 0 end
for _, pending in ipairs(all) do
  redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[3], 0, pending[1], 'IDLE', DAY, 'RETRYCOUNT', 0, 'JUSTID')
  count = count + 1
end
return count
