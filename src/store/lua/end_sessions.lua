-- Ends one or all of a user's sessions.
-- KEYS[1]  the sessions: a hash
-- ARGV[1]  the session's field, or '' for all
-- Returns  the number of sessions ended
local ended
if ARGV[1] ~= '' then ended = redis.call('HDEL', KEYS[1], ARGV[1])
else ended = end_all(KEYS[1]) end
if ended > 0 then signal(KEYS[1], 'sessions') end
return ended
