-- Removes an open report.
-- KEYS[1]  the open reports      KEYS[2]  their records
-- KEYS[3]  their ids, by who reports what      KEYS[4]  their numbers
-- ARGV[1]  the report's id      ARGV[2]  who reports what: a field of KEYS[3]
-- ARGV[3]  the reporter's field of KEYS[4]      ARGV[4]  the reported user's field of KEYS[4]
-- Returns  1 if the report was open
if redis.call('ZREM', KEYS[1], ARGV[1]) == 0 then return 0 end
redis.call('HDEL', KEYS[2], ARGV[1])
redis.call('HDEL', KEYS[3], ARGV[2])
for _, field in ipairs({ ARGV[3], ARGV[4] }) do
  if redis.call('HINCRBY', KEYS[4], field, -1) <= 0 then redis.call('HDEL', KEYS[4], field) end
end
return 1
