-- Draws on a bucket, if there is enough in it.
-- KEYS[1]  the bucket
-- ARGV[1]  now, in milliseconds    ARGV[2]  microseconds in which one comes back
-- ARGV[3]  how much fits           ARGV[4]  how much to draw
-- Returns  microseconds until there is enough, 0 if it was drawn; and microseconds until the bucket is full
local wait, full = draw(KEYS[1], ARGV[1], tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4]))
return { wait, full }
