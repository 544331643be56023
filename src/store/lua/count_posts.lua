-- How many posts an author has, wherever they are.
-- KEYS[1]  the posts: a list      KEYS[2]  what became cold: a hash
-- ARGV[1]  none
-- Returns  their number; a count that is wrong makes no more wrong than this number
return redis.call('LLEN', KEYS[1]) + math.max(0, tonumber(redis.call('HGET', KEYS[2], 'count')) or 0)
