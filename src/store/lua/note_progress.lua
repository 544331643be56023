-- Notes how far a job is, if it is still this worker's.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress     KEYS[3]  how many timelines were served
-- ARGV[1]  the group       ARGV[2]  the worker     ARGV[3]  the job's id in the stream
-- ARGV[4]  the job's field in the progress     ARGV[5]  how far it is
-- ARGV[6]  how many timelines were served since the last time
-- Returns  1 if noted, 0 if somebody else has taken the job over
local pending = redis.call('XPENDING', KEYS[1], ARGV[1], ARGV[3], ARGV[3], 1)[1]
if not pending or pending[2] ~= ARGV[2] then return 0 end
redis.call('HSET', KEYS[2], ARGV[4], ARGV[5])
redis.call('INCRBY', KEYS[3], ARGV[6])
-- Whoever looks for jobs that nobody is at sees that somebody is; and a job that goes forward has not
-- failed.
redis.call('XCLAIM', KEYS[1], ARGV[1], ARGV[2], 0, ARGV[3], 'RETRYCOUNT', 1, 'JUSTID')
return 1
