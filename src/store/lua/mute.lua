-- Mutes a user, or replaces the end and the scope of the mute. A repeated mute keeps its time, unless it has ended.
-- KEYS[1]  the mutes: a hash, user -> mute      KEYS[2]  the sessions, which have the version of the exclusions
-- KEYS[3]  the timeline                               KEYS[4]  posts removed from it: a sorted set
-- ARGV[1]  the muted user                       ARGV[2]  now, in milliseconds
-- ARGV[3]  the end, in milliseconds, or ''      ARGV[4]  the scope
-- ARGV[5]  the maximum number of mutes
-- Returns  the version of the exclusions; nil if the user has reached the limit
local mutes, member, now = KEYS[1], ARGV[1], ARGV[2]
local before = redis.call('HGET', mutes, member)
if not before and redis.call('HLEN', mutes) >= tonumber(ARGV[5]) then return false end
local since = before and not has_ended(before, now) and string.match(before, '^%d+') or now
local mute = since .. ':' .. ARGV[3] .. ':' .. ARGV[4]
if mute == before then return redis.call('HGET', KEYS[2], 'exclusions') or raise_exclusions(KEYS[2]) end
redis.call('HSET', mutes, member, mute)
signal(mutes, 'relation ' .. member)
reset(KEYS[3], KEYS[4])
return raise_exclusions(KEYS[2])
