-- Claims a job: postpones it, unless it is done or has been claimed by another process.
-- KEYS[1]  the jobs: a sorted set, scored by the time at which they are due
-- ARGV[1]  the job    ARGV[2]  the time at which it was due    ARGV[3]  the time at which it is due unless it is done
-- Returns  1 if the job was claimed, else 0
local due = redis.call('ZSCORE', KEYS[1], ARGV[1])
if not due or tonumber(due) ~= tonumber(ARGV[2]) then return 0 end
redis.call('ZADD', KEYS[1], ARGV[3], ARGV[1])
return 1
