-- Takes over orphaned jobs, and sets aside jobs that fail repeatedly. Creates the stream and the group if necessary.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress     KEYS[3]  failed jobs: a stream
-- KEYS[4]  posts not yet pushed to all timelines: a sorted set
-- KEYS[5?] number of jobs in the stream by author     KEYS[6?] held-back jobs     KEYS[7?] authors with held-back jobs:
--          not for jobs that remove posts
-- ARGV[1]  the group       ARGV[2]  the worker that takes over
-- ARGV[3]  milliseconds after which another worker's job counts as orphaned
-- ARGV[4]  maximum number of starts without progress     ARGV[5]  maximum number of jobs
-- ARGV[6…] the jobs that the worker holds
-- Returns  { { { the job's id in the stream, { field, value, … } } … }, 1 if the only job must run alone }

-- Maximum number of assigned jobs to examine.
local MOST = 1024
-- Time for which a suspect waits for an idle worker, in milliseconds.
local PATIENCE = 60000

-- Creates the group unless it exists. If Redis has no memory for the group, it has none for progress either. Then no
-- worker starts a job, and no job is blamed for not making progress.
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP') then return made end
local turns = KEYS[5] and { stream = KEYS[1], ready = KEYS[5], held = KEYS[6], turns = KEYS[7] }
-- An idle worker while jobs are held back indicates that the counts are wrong.
if turns and #ARGV == 5 and redis.call('EXISTS', KEYS[7]) == 1 and redis.call('XLEN', KEYS[1]) <= MOST then
  recount(turns)
end
local held = {}
for index = 6, #ARGV do held[ARGV[index]] = true end
local taken = {}

local function entry_of(id)
  local entry = redis.call('XRANGE', KEYS[1], id, id)[1]
  if not entry then redis.call('XACK', KEYS[1], ARGV[1], id) end
  return entry
end

-- Jobs that are assigned to this worker but that it does not hold were lost in transit.
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', MOST, ARGV[2])) do
  if #taken >= tonumber(ARGV[5]) then return { taken, 0 } end
  if not held[pending[1]] then taken[#taken + 1] = entry_of(pending[1]) end
end
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', MOST)) do
  if #taken >= tonumber(ARGV[5]) then return { taken, 0 } end
  local entry = pending[2] ~= ARGV[2] and entry_of(pending[1])
  -- A suspect was started more than once without progress, and may have killed its workers. It runs alone, so that no
  -- other job is blamed.
  local is_suspect = pending[4] > 1 and pending[3] < PATIENCE + tonumber(ARGV[3])
  if entry and pending[4] >= tonumber(ARGV[4]) then
    redis.call('XACK', KEYS[1], ARGV[1], pending[1])
    redis.call('XDEL', KEYS[1], pending[1])
    -- The first two fields of a job are its kind and its post.
    redis.call('HDEL', KEYS[2], (entry[2][2] or '') .. ':' .. (entry[2][4] or ''))
    redis.call('XADD', KEYS[3], 'MAXLEN', '~', 10000, '*', unpack(entry[2]))
    if entry[2][2] == 'deliver' then
      redis.call('ZREM', KEYS[4], entry[2][4])
      if turns and entry[2][6] then make_room(turns, entry[2][6]) end
    end
  elseif entry and is_suspect then
    if #taken == 0 and #ARGV == 5 then
      redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, pending[1])
      return { { entry }, 1 }
    end
  elseif entry then
    redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, pending[1])
    taken[#taken + 1] = entry
  end
end
-- Delete the consumers of workers that have been silent for an hour and have no jobs left.
for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for index = 1, #row, 2 do consumer[row[index]] = row[index + 1] end
  if consumer.pending == 0 and consumer.idle > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
  end
end
return { taken, 0 }
