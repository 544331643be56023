-- Prevents the record of a void post from being made for some time, and hides it if it was made. What is left is
-- marked `settled` = 2, unlike the tombstone of a post that was visible: nothing of it was ever counted or delivered.
-- KEYS[1]  the record
-- ARGV[1]  its author      ARGV[2]  when it was written      ARGV[3]  milliseconds to keep it away for
-- Returns  1 if that is so now, 0 if the record is of another post with this id (a counter may fall back)
local there = redis.call('HMGET', KEYS[1], 'author', 'created_at', 'deleted')
if there[1] and (there[1] ~= ARGV[1] or (there[2] ~= ARGV[2] and not there[3])) then return 0 end
-- A tombstone stays what it is, and is kept for no shorter time than before.
if there[3] then
  if redis.call('PTTL', KEYS[1]) >= 0 then redis.call('PEXPIRE', KEYS[1], ARGV[3]) end
  return 1
end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1, 'settled', 2)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
