-- Removes mutes that have ended. This makes room for others, and resets the timeline, which shows the users again.
-- KEYS[1]  the mutes: a hash, user -> mute      KEYS[2]  the sessions, which have the version of the exclusions
-- KEYS[3]  the timeline                         KEYS[4]  posts removed from it: a sorted set
-- ARGV[1]  now, in milliseconds     ARGV[2…]  the muted users
-- Returns  the version of the exclusions
local removed = 0
for i = 2, #ARGV do
  local mute = redis.call('HGET', KEYS[1], ARGV[i])
  if mute and has_ended(mute, ARGV[1]) then removed = removed + redis.call('HDEL', KEYS[1], ARGV[i]) end
end
if removed == 0 then return redis.call('HGET', KEYS[2], 'exclusions') end
reset(KEYS[3], KEYS[4])
return raise_exclusions(KEYS[2])
