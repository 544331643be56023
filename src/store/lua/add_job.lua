-- Adds a job that pushes a post to timelines. A job added twice runs twice, which is harmless.
-- KEYS[1]  the jobs: a stream      KEYS[2]  posts not yet pushed to all timelines: a sorted set
-- KEYS[3]  number of jobs in the stream by author     KEYS[4]  held-back jobs     KEYS[5]  authors with held-back jobs
-- ARGV[1]  the post        ARGV[2]  its author
-- Returns  the job's id in the stream, '' if it is held back
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
return add_in_turn({ stream = KEYS[1], ready = KEYS[3], held = KEYS[4], turns = KEYS[5] }, ARGV[2], ARGV[1])
