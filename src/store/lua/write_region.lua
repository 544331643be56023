-- Writes a user's region. Creates a shard at its full length, so that the shard never grows and Redis allocates no
-- spare memory for it.
-- KEYS[1]  the shard
-- ARGV[1]  the user's offset         ARGV[2]  two bytes   ARGV[3]  the length of a shard
-- Returns  1
if redis.call('EXISTS', KEYS[1]) == 0 then
  if ARGV[2] == '\0\0' then return 1 end
  redis.call('SETRANGE', KEYS[1], ARGV[3] - 1, '\0')
end
redis.call('SETRANGE', KEYS[1], ARGV[1], ARGV[2])
return 1
