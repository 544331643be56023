-- Records that the next merge of the posts of a follow resets the timeline, because workers have not found the follower
-- for a moment. Idempotent.
-- KEYS[1]  the timeline
-- KEYS[2]  the follows whose next merge resets the timeline: a sorted set
-- ARGV[1]  the followed user
-- Returns  1
await_merge(KEYS[1], KEYS[2], 'late:' .. ARGV[1], clock())
return 1
