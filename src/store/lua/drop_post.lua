-- Deletes an archived post's record, unless the record has changed.
-- KEYS[1]  the record
-- ARGV[1]  a field; then its expected value, '' for none; the next field, …
-- Returns  1 if no record is left, 0 if the record has changed
if redis.call('EXISTS', KEYS[1]) == 0 then return 1 end
for index = 1, #ARGV, 2 do
  if (redis.call('HGET', KEYS[1], ARGV[index]) or '') ~= ARGV[index + 1] then return 0 end
end
redis.call('DEL', KEYS[1])
return 1
