-- Adds a job that brings a post to timelines. Added twice, it is done twice, which does no harm.
-- KEYS[1]  the jobs: a stream      KEYS[2]  posts that are still to be brought to timelines: a sorted set
-- ARGV[1]  the post        ARGV[2…] the job's fields and values
-- Returns  the job's id in the stream
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
return redis.call('XADD', KEYS[1], '*', unpack(ARGV, 2))
