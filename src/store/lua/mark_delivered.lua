-- Marks a post as delivered, unless it has been deleted.
-- KEYS[1]  the record
-- ARGV[1]  the new delivery state
-- Returns  1 if marked, else 0
if redis.call('HEXISTS', KEYS[1], 'content') == 0 then return 0 end
redis.call('HSET', KEYS[1], 'delivery', ARGV[1])
return 1
