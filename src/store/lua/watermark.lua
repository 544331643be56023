-- Reads the watermark, up to which every post is visible or never will be, and the stars that the caller does not know.
-- KEYS[1]  the last id issued      KEYS[2]  posts being published: a sorted set, scored by id
-- KEYS[3]  the stars: a set        KEYS[4]  the stars by number: a sorted set
-- ARGV[1]  the last star that the caller knows; 0 for none      ARGV[2]  its number
-- Returns  { the watermark, the number of the last star, the number of the last star that the caller knows, or 0 if
--            Redis has lost that star and perhaps given its number to another, { the stars with greater numbers than
--            that } }
local first = redis.call('ZRANGE', KEYS[2], 0, 0, 'WITHSCORES')
local mark = first[2] and string.format('%.0f', first[2] - 1) or redis.call('GET', KEYS[1]) or '0'
local last = last_number(KEYS[4])
if redis.call('SCARD', KEYS[3]) ~= redis.call('ZCARD', KEYS[4]) then
  -- The stars of an earlier version have no numbers.
  for _, author in ipairs(redis.call('SMEMBERS', KEYS[3])) do
    if not redis.call('ZSCORE', KEYS[4], author) then
      last = last + 1
      redis.call('ZADD', KEYS[4], last, author)
    end
  end
end
local known = redis.call('ZSCORE', KEYS[4], ARGV[1]) == ARGV[2] and ARGV[2] or '0'
local number = string.format('%.0f', last)
if number == known then return { mark, number, known, {} } end
return { mark, number, known, redis.call('ZRANGEBYSCORE', KEYS[4], '(' .. known, '+inf') }
