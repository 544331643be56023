-- Reads the session that a token opens, and draws on the bucket of its user if it has not expired: whoever has no
-- session uses nothing of its user's up.
-- KEYS[1]  the sessions            KEYS[2]  the bucket
-- ARGV[1]  the session's field     ARGV[2]  now, in milliseconds
-- ARGV[3]  microseconds in which one comes back
-- ARGV[4]  how much fits           ARGV[5]  how much to draw
-- Returns  the session, nil if there is none; and of the bucket what `draw` returns
local session = redis.call('HGET', KEYS[1], ARGV[1])
local expires = session and string.match(session, '^[^\t]*\t[^\t]*\t[^\t]*\t(%d+)\t')
if not expires or tonumber(expires) <= tonumber(ARGV[2]) then return { session, 0, 0 } end
local wait, full = draw(KEYS[2], ARGV[2], tonumber(ARGV[3]), tonumber(ARGV[4]), tonumber(ARGV[5]))
return { session, wait, full }
