-- Takes posts that the archive has out of their author's list. Twice is once.
-- KEYS[1]  the posts: a list      KEYS[2]  what became cold: a hash
-- ARGV[1]  the least of the posts     ARGV[2…] the others, in ascending order
-- Returns  how many were in the list
local count = 0
for _, id in ipairs(ARGV) do count = count + redis.call('LREM', KEYS[1], -1, id) end
if count > 0 then redis.call('HINCRBY', KEYS[2], 'count', count) end
local last = ARGV[#ARGV]
if tonumber(last) > tonumber(redis.call('HGET', KEYS[2], 'greatest') or 0) then
  redis.call('HSET', KEYS[2], 'greatest', last)
end
return count
