-- Takes a post out of a timeline, if there is one. Twice is once.
-- KEYS[1]  the timeline    KEYS[2]  what was taken out of it: a sorted set
-- ARGV[1]  the post        ARGV[2]  milliseconds for which it is remembered
-- Returns  1 if it was there, else 0
return remove(KEYS[1], KEYS[2], ARGV[1], tonumber(ARGV[2]))
