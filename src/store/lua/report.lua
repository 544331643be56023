-- Adds a user's report of another user or of a post, or replaces the user's open report of it. Idempotent.
-- KEYS[1]  the last id issued      KEYS[2]  the open reports      KEYS[3]  their records
-- KEYS[4]  their ids, by who reports what      KEYS[5]  their numbers
-- ARGV[1]  who reports what: a field of KEYS[4]      ARGV[2]  the record
-- ARGV[3]  the reporter's field of KEYS[5]           ARGV[4]  the reported user's field of KEYS[5]
-- ARGV[5]  the maximum number of open reports by the reporter
-- Returns  the report's id; nil if the reporter has too many open reports
local id = redis.call('HGET', KEYS[4], ARGV[1])
if not id then
  if tonumber(redis.call('HGET', KEYS[5], ARGV[3]) or 0) >= tonumber(ARGV[5]) then return nil end
  id = redis.call('INCR', KEYS[1])
  redis.call('ZADD', KEYS[2], id, id)
  redis.call('HSET', KEYS[4], ARGV[1], id)
  redis.call('HINCRBY', KEYS[5], ARGV[3], 1)
  redis.call('HINCRBY', KEYS[5], ARGV[4], 1)
end
redis.call('HSET', KEYS[3], id, ARGV[2])
return tonumber(id)
