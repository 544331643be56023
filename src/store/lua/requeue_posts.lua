-- Puts posts that could not be archived back among those that wait.
-- KEYS[1]  posts that could not be archived: a list      KEYS[2]  the posts that wait: a list
-- ARGV[1]  at most so many
-- Returns  how many
for count = 1, tonumber(ARGV[1]) do
  if not redis.call('LMOVE', KEYS[1], KEYS[2], 'LEFT', 'RIGHT') then return count - 1 end
end
return tonumber(ARGV[1])
