-- Ends a user's follow of another, or the request to follow them. Idempotent.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the sessions, which have the version of the exclusions
-- ARGV[1]  the other user      ARGV[2]  1 to end only a request, else 0
-- Returns  { { 'following', 'requested' or '', the time or '' }: the follow after the change, the version of the exclusions
--          or nil }
if ARGV[2] ~= '1' or follow_of(KEYS[1], KEYS[2], ARGV[1]) == 'requested' then
  end_follow(KEYS[1], KEYS[2], KEYS[3], ARGV[1])
end
return { { follow_of(KEYS[1], KEYS[2], ARGV[1]) }, redis.call('HGET', KEYS[3], 'exclusions') }
