-- Removes a member from a shard of a tree, and keeps the shard closed if it was full.
-- KEYS[1]  the shard
-- ARGV[1]  the member      ARGV[2]  the capacity of a shard
-- Returns  1 if the shard contained the member, else 0
local was_full = redis.call('SCARD', KEYS[1]) >= tonumber(ARGV[2])
local removed = redis.call('SREM', KEYS[1], ARGV[1])
if removed == 1 and was_full then redis.call('SADD', KEYS[1], MARK) end
return removed
