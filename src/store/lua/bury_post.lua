-- Sees to it that the record of a post that is void does not come to be for some time, and is not
-- found if it has.
-- KEYS[1]  the record
-- ARGV[1]  its author      ARGV[2]  when it was written      ARGV[3]  milliseconds to keep it away for
-- Returns  1 if that is so now, 0 if the record is of another post with this id (a counter may fall back)
local there = redis.call('HMGET', KEYS[1], 'author', 'created_at', 'deleted')
if there[1] and (there[1] ~= ARGV[1] or (there[2] ~= ARGV[2] and not there[3])) then return 0 end
redis.call('DEL', KEYS[1])
redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1)
redis.call('PEXPIRE', KEYS[1], ARGV[3])
return 1
