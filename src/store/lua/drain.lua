-- Takes from a bucket what was used already, but no more than there is.
-- KEYS[1]  the bucket
-- ARGV[1]  now, in milliseconds    ARGV[2]  microseconds in which one comes back
-- ARGV[3]  how much fits           ARGV[4]  how much was used
-- Returns  microseconds until the bucket is full
local interval, capacity, used = tonumber(ARGV[2]), tonumber(ARGV[3]), tonumber(ARGV[4])
local wait, full = draw(KEYS[1], ARGV[1], interval, capacity, used)
if wait > 0 then
  -- There is less: all of it is taken, in whole parts.
  wait, full = draw(KEYS[1], ARGV[1], interval, capacity, math.max(math.floor(capacity - full / interval), 0))
end
return full
