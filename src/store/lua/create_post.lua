-- Creates a post's record, unless the post is archived, or the id was revoked or belongs to another post (an id counter
-- may go back when Redis fails over).
-- KEYS[1]  the record
-- ARGV[1]  the author    ARGV[2]  the delivery mode   ARGV[3]  a field; then its value, the next field, …
-- Returns  the delivery mode in the current record, that of the arguments if the post is archived, or nil
local there = redis.call('HGETALL', KEYS[1])
if #there > 0 then
  local record = {}
  for index = 1, #there, 2 do record[there[index]] = there[index + 1] end
  if record['archived'] then return record['archived'] == ARGV[1] and ARGV[2] or nil end
  -- Since the record was created, others may have referred to the post, and its author may have edited it.
  local may_differ = { details = true }
  may_differ.content = string.match(record['details'] or '', '^%d+ [1-9]') ~= nil
  if record['author'] ~= ARGV[1] then return nil end
  for index = 3, #ARGV, 2 do
    if not may_differ[ARGV[index]] and record[ARGV[index]] ~= ARGV[index + 1] then return nil end
  end
  -- The first process to create the record decides the delivery mode, and the delivery may have progressed since.
  return record['delivery']
end
redis.call('HSET', KEYS[1], 'author', ARGV[1], 'delivery', ARGV[2], unpack(ARGV, 3))
return ARGV[2]
