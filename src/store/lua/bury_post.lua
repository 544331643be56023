-- Prevents the creation of a revoked post's record for some time, and replaces an existing record and its lists with a
-- tombstone. The tombstone is marked `settled` = 2, unlike the tombstone of a post that was visible, because the post
-- was never counted or delivered.
-- KEYS[1]  the record      KEYS[2…] the lists that are stored with it
-- ARGV[1]  its author      ARGV[2]  its creation time      ARGV[3]  lifetime of the tombstone, in milliseconds
-- Returns  1 if successful, 0 if the record belongs to another post with this id (an id counter may go
--          back when Redis fails over)
local there = redis.call('HMGET', KEYS[1], 'author', 'created_at', 'deleted')
if there[1] and (there[1] ~= ARGV[1] or (there[2] ~= ARGV[2] and not there[3])) then return 0 end
-- An existing tombstone stays unchanged, and this script never shortens its lifetime.
if there[3] then
  if redis.call('PTTL', KEYS[1]) >= 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 1
end
redis.call('DEL', unpack(KEYS))
redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1, 'settled', 2)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
