-- Adds a job that brings a post to timelines. Added twice, it is done twice, which does no harm.
-- KEYS[1]  the jobs: a stream      KEYS[2]  posts that are still to be brought to timelines: a sorted set
-- KEYS[3]  how many jobs of each author are in the stream     KEYS[4]  those held back     KEYS[5]  their authors
-- ARGV[1]  the post        ARGV[2]  its author
-- Returns  the job's id in the stream, '' if it is held back
redis.call('ZADD', KEYS[2], ARGV[1], ARGV[1])
return add_in_turn({ stream = KEYS[1], ready = KEYS[3], held = KEYS[4], turns = KEYS[5] }, ARGV[2], ARGV[1])
