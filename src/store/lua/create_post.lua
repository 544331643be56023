-- Creates a post's record, unless the id was revoked or belongs to another post (an id counter may go back when Redis
-- fails over).
-- KEYS[1]  the record
-- ARGV[1]  a field; then its value, the next field, …
-- Returns  the delivery mode in the current record, or nil
local there = redis.call('HGETALL', KEYS[1])
if #there > 0 then
  local record = {}
  for index = 1, #there, 2 do record[there[index]] = there[index + 1] end
  for index = 1, #ARGV, 2 do
    -- The first process to create the record decides the delivery mode, and the delivery may have progressed since.
    if ARGV[index] ~= 'delivery' and record[ARGV[index]] ~= ARGV[index + 1] then return nil end
  end
  return record['delivery']
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return redis.call('HGET', KEYS[1], 'delivery')
