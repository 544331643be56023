-- Issues post ids and records that the posts are being published.
-- KEYS[1]  the last id issued      KEYS[2]  posts being published: a sorted set, scored by id
-- KEYS[3]  the node that has issued the last id, in a cluster
-- ARGV[1]  lower bound of the ids: the counter may go back when Redis fails over
-- ARGV[2…] for each post, the rest of the note after the id
-- Returns  the first id issued
local count = #ARGV - 1
-- More ids than are issued in the time by which a replica may lag behind.
if is_new_issuer(KEYS[3]) then redis.call('INCRBY', KEYS[1], 65536) end
local last = redis.call('INCRBY', KEYS[1], count)
if last - count + 1 < tonumber(ARGV[1]) then
  last = tonumber(ARGV[1]) + count - 1
  redis.call('SET', KEYS[1], string.format('%.0f', last))
end
for index = 1, count do
  local id = string.format('%.0f', last - count + index)
  redis.call('ZADD', KEYS[2], id, id .. ':' .. ARGV[index + 1])
end
return string.format('%.0f', last - count + 1)
