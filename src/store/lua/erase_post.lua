-- Erases a post's content. The tombstone records the deletion, the author and the visibility.
-- KEYS[1]  the record
-- ARGV[1]  the user who deletes the post
-- ARGV[2]  1 if the post is in the archive     ARGV[3]  its visibility then, '' for a public post
-- Returns  'erased', even if the post was erased before; 'missing'; or 'foreign' if the post belongs to another user
local author = redis.call('HGET', KEYS[1], 'author')
if not author then
  if ARGV[2] ~= '1' then return 'missing' end
  -- There may be the marker of an archived post, which expires.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1)
  if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'visibility', ARGV[3]) end
  return 'erased'
end
if author ~= ARGV[1] then return 'foreign' end
-- The post was never visible.
if redis.call('HGET', KEYS[1], 'settled') == '2' then return 'missing' end
redis.call('HDEL', KEYS[1], 'content', 'created_at', 'platform', 'details')
redis.call('HSET', KEYS[1], 'deleted', 1)
return 'erased'
