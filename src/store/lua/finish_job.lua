-- Takes a job that is done out of the queue. Twice is once.
-- KEYS[1]  the jobs: a stream      KEYS[2]  their progress
-- KEYS[3]  posts that are still to be brought to timelines: a sorted set
-- ARGV[1]  the group       ARGV[2]  the job's id in the stream
-- ARGV[3]  the job's field in the progress     ARGV[4]  the post that it has brought to timelines, or ''
-- Returns  1 if it was there, else 0
redis.call('XACK', KEYS[1], ARGV[1], ARGV[2])
redis.call('HDEL', KEYS[2], ARGV[3])
if ARGV[4] ~= '' then redis.call('ZREM', KEYS[3], ARGV[4]) end
return redis.call('XDEL', KEYS[1], ARGV[2])
