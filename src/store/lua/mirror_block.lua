-- Makes the mirror of a block equal to its truth, unless a later version of the truth has been mirrored before. A block
-- also ends the blocked user's follow of the blocking user, or the request to follow them. Idempotent. Nothing is
-- signalled, because the blocked user is not to notice.
-- KEYS[1]  the users that the blocked user follows: a sorted set, scored by time      KEYS[2]  the users that they have
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- KEYS[8]  the fence: the version of the blocking user's exclusions that was mirrored last; it expires
-- KEYS[9]  the newest of those who block the user     KEYS[10]  their number
-- KEYS[11…]  the shards that may contain the blocking user, from the root down
-- ARGV[1]  the blocking user     ARGV[2]  the version of the blocking user's exclusions
-- ARGV[3]  the time of the block, or '' if there is none     ARGV[4]  the capacity of a shard, except those of the last
--          level     ARGV[5]  lifetime of the fence, in milliseconds
-- Returns  { 'following', 'requested' or '', the time or '', 1 if withheld, else 0 }: the blocked user's follow after
--          the change
local follows = follows_at(1)
local blocker, at, room = ARGV[1], ARGV[3], tonumber(ARGV[4])
if tonumber(ARGV[2]) >= tonumber(redis.call('GET', KEYS[8]) or 0) then
  redis.call('SET', KEYS[8], ARGV[2], 'PX', ARGV[5])
  local blockers = compact_set(9)
  local changed
  if at == '' then
    changed = remove_from_compact(blockers, blocker, room)
  else
    changed = add_to_compact(blockers, blocker, at, room)
    end_follow(follows, blocker)
  end
  if changed == 1 then raise_exclusions(follows.sessions) end
end
return { follow_of(follows, blocker) }
