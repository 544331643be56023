-- Makes a post's record, unless the id is somebody else's (a counter may fall back) or void.
-- KEYS[1]  the record
-- ARGV[1]  a field; then its value, the next field, …
-- Returns  how the post is delivered, as the record says that is there now, or nil
local there = redis.call('HGETALL', KEYS[1])
if #there > 0 then
  local record = {}
  for index = 1, #there, 2 do record[there[index]] = there[index + 1] end
  for index = 1, #ARGV, 2 do
    -- How far its delivery is may have changed since, and how it is done is decided once.
    if ARGV[index] ~= 'delivery' and record[ARGV[index]] ~= ARGV[index + 1] then return nil end
  end
  return record['delivery']
end
redis.call('HSET', KEYS[1], unpack(ARGV))
return redis.call('HGET', KEYS[1], 'delivery')
