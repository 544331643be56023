-- Turns a user's request to follow another into a follow, unless the request has been withdrawn. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the sessions, which have the version of the exclusions
-- ARGV[1]  the other user      ARGV[2]  the time of the request to accept, or '' for a request of any time
-- ARGV[3]  the current time
-- Returns  { 'following', 'requested' or '', the time or '' }: the follow after the change
local state, since = follow_of(KEYS[1], KEYS[2], ARGV[1])
if state ~= 'requested' or (ARGV[2] ~= '' and tonumber(since) ~= tonumber(ARGV[2])) then return { state, since } end
accept_request(KEYS[1], KEYS[2], KEYS[3], ARGV[1], ARGV[3])
return { 'following', ARGV[3] }
