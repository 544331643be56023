-- Takes a job that is done out of the queue. Twice is once.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress
-- ARGV[1]  the group       ARGV[2]  the job's id in the stream
-- ARGV[3]  the job's field in the progress
-- Returns  1 if it was there, else 0
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], ARGV[3])
return redis.call('XDEL', KEYS[1], ARGV[2])
