-- Shared part of the scripts that begin follows or merge their posts into the timeline. A sorted set has the follows
-- whose next merge resets the timeline, for as long as clients can resume: `9` if the follow is new, `late:9` if
-- workers have not found the follower for a moment (`await_merge`), or if an earlier merge has not been ended
-- (`merge_timeline`, `end_merge`).

-- Records that the next merge of the posts of a follow resets the timeline, unless there is no timeline.
local function await_merge(timeline, merging, member, at)
  if redis.call('EXISTS', timeline) == 0 then return end
  redis.call('ZADD', merging, at, member)
  redis.call('PEXPIRE', merging, REMOVALS_MILLIS)
end

-- Returns true if the next merge of the posts of a follow was to reset the timeline, which it is not any more.
local function end_await(merging, member)
  return redis.call('ZREM', merging, member, 'late:' .. member) > 0
end
