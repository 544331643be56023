-- Sees to it that a user who does not exist never will: a late writer finds the id void.
-- KEYS[1]  the record      KEYS[2]  the void set
-- ARGV[1]  the time now    ARGV[2]  milliseconds to remember it for: longer than any writer lives
-- Returns  1 if the user exists (and nothing was done), 0 if the id is void now
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
remember(KEYS[2], 'user', ARGV[1], ARGV[2])
return 0
