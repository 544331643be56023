-- Replaces an archived post's record by a marker, and deletes the lists that are stored with it, unless the record has
-- changed: it changes with the lists. The marker keeps a late publisher from creating the record again.
-- KEYS[1]  the record      KEYS[2…] the lists that are stored with it
-- ARGV[1]  lifetime of the marker, in milliseconds
-- ARGV[2]  a field; then its expected value, '' for none; the next field, …
-- Returns  1 if no record is left, 0 if the record has changed
local author = redis.call('HGET', KEYS[1], 'author')
if not author then return 1 end
for index = 2, #ARGV, 2 do
  if (redis.call('HGET', KEYS[1], ARGV[index]) or '') ~= ARGV[index + 1] then return 0 end
end
redis.call('DEL', unpack(KEYS))
redis.call('HSET', KEYS[1], 'archived', author)
redis.call('PEXPIRE', KEYS[1], ARGV[1])
return 1
