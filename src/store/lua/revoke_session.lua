-- Ends the session with a given id.
-- KEYS[1]  the sessions
-- ARGV[1]  the prefix of the value of the session with this id
-- Returns  1 if the session existed, else 0
local all = redis.call('HGETALL', KEYS[1])
for i = 1, #all, 2 do
  if string.sub(all[i + 1], 1, #ARGV[1]) == ARGV[1] then
    redis.call('HDEL', KEYS[1], all[i])
    signal(KEYS[1], 'sessions')
    return 1
  end
end
return 0
