-- Takes over jobs that nobody is at, and puts those aside that fail again and again. Makes the stream and
-- the group if need be.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress     KEYS[3]  those put aside: a stream
-- KEYS[4]  posts that are still to be brought to timelines: a sorted set
-- KEYS[5]  how many jobs of each author are in the stream     KEYS[6]  those held back     KEYS[7]  their authors;
--          none of the three if these are jobs that take posts out
-- ARGV[1]  the group       ARGV[2]  who takes over
-- ARGV[3]  milliseconds after which another worker is thought to be at a job no more
-- ARGV[4]  how often a job may be begun without going forward     ARGV[5]  at most so many
-- ARGV[6…] the jobs that it is at itself
-- Returns  { { { the job's id in the stream, { field, value, … } } … }, 1 if it must be done alone }

-- How many of the jobs that are under way are looked at.
local MOST = 1024
-- For so many milliseconds a suspect waits for a worker that has nothing else to do.
local PATIENCE = 60000

-- The group is there after this, whether or not it was before. And a Redis that has no room for it has
-- none for progress either: no job is begun then, and none blamed for not going forward.
local made = redis.pcall('XGROUP', 'CREATE', KEYS[1], ARGV[1], '0', 'MKSTREAM')
if made.err and not string.find(made.err, 'BUSYGROUP') then return made end
local turns = KEYS[5] and { stream = KEYS[1], ready = KEYS[5], held = KEYS[6], turns = KEYS[7] }
-- A worker that has nothing to do while jobs are held back should have some.
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

-- What is its own though it is not at it was lost on the way.
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], '-', '+', MOST, ARGV[2])) do
  if #taken >= tonumber(ARGV[5]) then return { taken, 0 } end
  if not held[pending[1]] then taken[#taken + 1] = entry_of(pending[1]) end
end
for _, pending in ipairs(redis.call('XPENDING', KEYS[1], ARGV[1], 'IDLE', ARGV[3], '-', '+', MOST)) do
  if #taken >= tonumber(ARGV[5]) then return { taken, 0 } end
  local entry = pending[2] ~= ARGV[2] and entry_of(pending[1])
  -- Begun more than once without going forward: it may be what its workers have died of. It is begun by
  -- itself, so that no other is blamed for it.
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
-- Workers that are gone and have nothing left are forgotten after an hour.
for _, row in ipairs(redis.call('XINFO', 'CONSUMERS', KEYS[1], ARGV[1])) do
  local consumer = {}
  for index = 1, #row, 2 do consumer[row[index]] = row[index + 1] end
  if consumer.pending == 0 and consumer.idle > 3600000 then
    redis.call('XGROUP', 'DELCONSUMER', KEYS[1], ARGV[1], consumer.name)
  end
end
return { taken, 0 }
