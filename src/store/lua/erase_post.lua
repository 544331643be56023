-- Erases a post's content and its lists. The tombstone records the deletion, the author, the visibility and the posts
-- to which the post referred.
-- KEYS[1]  the record      KEYS[2…] the lists that are stored with it
-- ARGV[1]  the user who deletes the post
-- ARGV[2]  1 if the post is in the archive     ARGV[3]  its visibility then, '' for a public post
-- ARGV[4]  its details then, only with references to posts, '' for none
-- Returns  'erased', even if the post was erased before; 'missing'; or 'foreign' if the post belongs to another user
local author = redis.call('HGET', KEYS[1], 'author')
if not author then
  if ARGV[2] ~= '1' then return 'missing' end
  -- There may be the marker of an archived post, which expires.
  redis.call('DEL', KEYS[1])
  redis.call('HSET', KEYS[1], 'author', ARGV[1], 'deleted', 1)
  if ARGV[3] ~= '' then redis.call('HSET', KEYS[1], 'visibility', ARGV[3]) end
  if ARGV[4] ~= '' then redis.call('HSET', KEYS[1], 'details', ARGV[4]) end
  return 'erased'
end
if author ~= ARGV[1] then return 'foreign' end
-- The post was never visible.
if redis.call('HGET', KEYS[1], 'settled') == '2' then return 'missing' end
local details = redis.call('HGET', KEYS[1], 'details')
if details then
  local _, rest = read_details(details)
  redis.call('HSET', KEYS[1], 'details', PLAIN .. without_content(rest))
end
redis.call('HDEL', KEYS[1], 'content', 'created_at', 'platform')
redis.call('HSET', KEYS[1], 'deleted', 1)
redis.call('DEL', unpack(KEYS, 2))
return 'erased'
