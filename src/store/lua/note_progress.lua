-- Records a job's progress, if the job still belongs to this worker.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress     KEYS[3]  number of timelines written
-- ARGV[1]  the group       ARGV[2]  the worker     ARGV[3]  the job's id in the stream
-- ARGV[4]  the job's field in the progress     ARGV[5]  its progress
-- ARGV[6]  number of timelines written since the last call
-- Returns  1 if recorded, 0 if another worker has taken the job over
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not pending or pending[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], ARGV[4], ARGV[5])
redis.call('INCRBY', KEYS[3], ARGV[6])
-- Resets the idle time, so that no other worker takes the job over, and the count of starts, because a job that makes
-- progress has not failed.
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
return 1
