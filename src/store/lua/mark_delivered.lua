-- Notes on a post that it has been delivered, unless it has been deleted.
-- KEYS[1]  the record
-- ARGV[1]  what to note
-- Returns  1 if noted, else 0
if redis.call('HEXISTS', KEYS[1], 'content') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'delivery', ARGV[1])
return 1
