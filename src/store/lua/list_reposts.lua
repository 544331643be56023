-- Adds reposts to the list of those that must be deleted, because the post is deleted. Idempotent. Does nothing once
-- the archive has the post's tombstone, so that a slow mover does not list reposts that have been deleted.
-- KEYS[1]  the record of the deleted post      KEYS[2]  its reposts: a list
-- ARGV[1]  a repost; then the next, …
-- Returns  1, or 0 if the post has no tombstone, or the archive has it
local there = redis.call('HMGET', KEYS[1], 'deleted', 'settled')
if not there[1] or there[2] then return 0 end
for _, repost in ipairs(ARGV) do insert(KEYS[2], redis.call('LLEN', KEYS[2]), tonumber(repost)) end
return 1
