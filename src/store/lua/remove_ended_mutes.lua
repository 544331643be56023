-- Removes mutes that have ended, which makes room for others. They hide nothing any more, so the version stays.
-- KEYS[1]  the mutes: a hash, user -> mute
-- ARGV[1]  now, in milliseconds     ARGV[2…]  the muted users
-- Returns  the number of mutes removed
local removed = 0
for i = 2, #ARGV do
  local mute = redis.call('HGET', KEYS[1], ARGV[i])
  if mute and has_ended(mute, ARGV[1]) then removed = removed + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
return removed
