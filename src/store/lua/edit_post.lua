-- Replaces the text of a post, and keeps the replaced version, if the post still has the expected edition.
-- KEYS[1]  the record      KEYS[2]  its earlier versions: a list, the newest first
-- ARGV[1]  the author      ARGV[2]  the expected edition     ARGV[3]  the new text
-- ARGV[4]  the current time      ARGV[5]  maximum number of earlier versions
-- ARGV[6]  the references that belong to the new text, as stored
-- Returns  'done'; 'conflict' if the edition is another; 'deleted' if the post is deleted, or belongs to another user;
--          or 'missing' if it has no record
local there = redis.call('HMGET', KEYS[1], 'author', 'content', 'created_at', 'details')
local author, content, created_at = there[1], there[2], there[3]
if not author then return 'missing' end
if author ~= ARGV[1] or not content then return 'deleted' end
local numbers, rest = read_details(there[4])
local edition, edited_at = numbers[2], numbers[3]
rest = without_content(rest) .. ARGV[6]
if edition ~= tonumber(ARGV[2]) then return 'conflict' end
local written_at = edition == 0 and created_at or string.format('%.0f', edited_at)
redis.call('LPUSH', KEYS[2], ARGV[2] .. ':' .. written_at .. ':' .. content)
local most = tonumber(ARGV[5])
if redis.call('LLEN', KEYS[2]) > most then
  -- The first version stays.
  local first = redis.call('RPOP', KEYS[2])
  redis.call('LTRIM', KEYS[2], 0, most - 2)
  redis.call('RPUSH', KEYS[2], first)
end
-- The clocks of servers differ, but no version is older than the one before it.
numbers[2], numbers[3] = edition + 1, math.max(tonumber(ARGV[4]), tonumber(written_at))
redis.call('HSET', KEYS[1], 'content', ARGV[3], 'details', next_details(numbers, rest))
return 'done'
