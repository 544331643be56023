-- Shared part of the push job scripts. The stream, from which workers take jobs in order, contains only a few jobs of
-- each author. The scripts hold the author's other jobs back, and each finished job makes room for the author's next
-- job, so that prolific authors take turns with other authors. A held-back job is `author:post:time`, padded so that an
-- author's posts sort by id, in a sorted set of equal scores.
-- `keys` are { ready = number of jobs in the stream by author: a hash, held = held-back jobs: a sorted set,
-- turns = authors with held-back jobs by queueing time of the first such job: a sorted set, stream = the jobs }.

local MOST_READY = 4

local function add_to_stream(keys, author, post)
  redis.call('HINCRBY', keys.ready, author, 1)
  return redis.call('XADD', keys.stream, '*', 'kind', 'deliver', 'post', post, 'author', author)
end

local function first_held(keys, author)
  local name = string.format('%016.0f', tonumber(author))
  -- ';' is the character after ':'.
  return redis.call('ZRANGEBYLEX', keys.held, '[' .. name .. ':', '(' .. name .. ';', 'LIMIT', 0, 1)[1]
end

local function note_turn(keys, author)
  local first = first_held(keys, author)
  if first then redis.call('ZADD', keys.turns, string.match(first, '%d+$'), author)
  else redis.call('ZREM', keys.turns, author) end
end

-- Adds a job, or holds it back. Returns the job's id in the stream, or '' if held back.
local function add_in_turn(keys, author, post)
  local ready = tonumber(redis.call('HGET', keys.ready, author) or 0)
  if ready < MOST_READY and not redis.call('ZSCORE', keys.turns, author) then
    return add_to_stream(keys, author, post)
  end
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  redis.call('ZADD', keys.held, 0, string.format('%016.0f:%016.0f:%.0f', tonumber(author), tonumber(post), now))
  note_turn(keys, author)
  return ''
end

-- Adds an author's held-back jobs to the stream while there is room.
local function release(keys, author)
  local ready = tonumber(redis.call('HGET', keys.ready, author) or 0)
  while ready < MOST_READY do
    local first = first_held(keys, author)
    if not first then break end
    redis.call('ZREM', keys.held, first)
    add_to_stream(keys, author, string.match(first, ':0*(%d+):'))
    ready = ready + 1
  end
  note_turn(keys, author)
end

-- Records that one of an author's jobs has left the stream.
local function make_room(keys, author)
  if redis.call('HINCRBY', keys.ready, author, -1) <= 0 then redis.call('HDEL', keys.ready, author) end
  if redis.call('ZSCORE', keys.turns, author) then release(keys, author) end
end

-- Recounts the jobs in the stream, because another version may have removed jobs uncounted, and refills the stream.
local function recount(keys)
  redis.call('DEL', keys.ready)
  for _, entry in ipairs(redis.call('XRANGE', keys.stream, '-', '+')) do
    if entry[2][2] == 'deliver' and entry[2][6] then redis.call('HINCRBY', keys.ready, entry[2][6], 1) end
  end
  for _, author in ipairs(redis.call('ZRANGE', keys.turns, 0, 999)) do release(keys, author) end
end
