-- Prevents the record of a revoked post from being created for some time, and hides it if it exists. The tombstone is
-- marked `settled` = 2, unlike that of a post that was visible: the post was never counted or delivered.
-- KEYS[1]  the record
-- ARGV[1]  its author      ARGV[2]  its creation time      ARGV[3]  lifetime of the tombstone, in milliseconds
-- Returns  1 if successful, 0 if the record belongs to another post with this id (a counter may fall back)
local there = redis.call('HMGET', KEYS[1], 'author', 'created_at', 'deleted')
if there[1] and (there[1] ~= ARGV[1] or (there[2] ~= ARGV[2] and not there[3])) then return 0 end
-- A tombstone stays unchanged, and its lifetime is never shortened.
if there[3] then
  if redis.call('PTTL', KEYS[1]) >= 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1, 'settled', 2)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
