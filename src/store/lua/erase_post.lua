-- Erases what a post says. What is left tells that it was deleted, whose it was and how it was delivered.
-- KEYS[1]  the record
-- ARGV[1]  who wants it erased
-- ARGV[2]  if the archive has the post: how it was delivered; else ''
-- Returns  'erased', also if it was before; 'missing'; or 'foreign' if it is somebody else's
local author = redis.call('HGET', KEYS[1], 'author')
if not author then
  if ARGV[2] == '' then return 'missing' end
  redis.call('HSET', KEYS[1], 'author', ARGV[1], 'delivery', ARGV[2], 'deleted', 1)
  return 'erased'
end
if author ~= ARGV[1] then return 'foreign' end
redis.call('HDEL', KEYS[1], 'content', 'created_at', 'platform')
redis.call('HSET', KEYS[1], 'deleted', 1)
return 'erased'
