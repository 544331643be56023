-- Takes over jobs of other workers that nobody has been at for some time, and puts those aside that fail
-- again and again.
-- Makes the stream and the group if need be.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress     KEYS[3]  those put aside: a stream
-- ARGV[1]  the group       ARGV[2]  who takes over     ARGV[3]  milliseconds
-- ARGV[4]  how often a job may be begun without going forward     ARGV[5]  at most so many
-- Returns  { { the job's id in the stream, { field, value, … } } … }

-- The group is there after this, whether or not it was before.
redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
local taken = {}
local idle = redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', ARGV[5])
for _, pending in ipairs(idle) do
  local entry = redis.call('XRANGE', KEYS[1], pending[1], pending[1])[1]
  if pending[2] == ARGV[2] then
    -- It is at it.
  elseif not entry then
    redis.call('XACK', KEYS[1], ARGV[1], pending[1])
  elseif pending[4] >= tonumber(ARGV[4]) then
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', unpack(entry[2]))
    redis.call('XACK', KEYS[1], ARGV[1], pending[1])
    redis.call('XDEL', KEYS[1], pending[1])
    -- The first two fields of a job are its kind and its post.
    redis.call('HDEL', KEYS[2], entry[2][2] .. ':' .. entry[2][4])
  else
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, pending[1])
    taken[#taken + 1] = entry
  end
end
-- Workers that are gone and have nothing left are forgotten after an hour.
for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for index = 1, #row, 2 do consumer[row[index]] = row[index + 1] end
  if consumer.pending == 0 and consumer.idle > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
  end
end
return taken
