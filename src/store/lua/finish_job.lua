-- Removes a finished job from the queue. Idempotent.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress
-- KEYS[3]  posts not yet pushed to all timelines: a sorted set
-- KEYS[4]  number of jobs in the stream by author     KEYS[5]  held-back jobs     KEYS[6]  authors with held-back jobs
-- ARGV[1]  the group       ARGV[2]  the job's id in the stream
-- ARGV[3]  the job's field in the progress     ARGV[4]  the post that the job has pushed, or ''
-- ARGV[5]  the author
-- Returns  1 if the job was in the stream, else 0
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], ARGV[3])
local was_there = redis.call('XDEL', KEYS[1], ARGV[2])
if ARGV[4] ~= '' then
  redis.call('ZREM', KEYS[3], ARGV[4])
  if was_there == 1 then
    make_room({ stream = KEYS[1], ready = KEYS[4], held = KEYS[5], turns = KEYS[6] }, ARGV[5])
  end
end
return was_there
