-- Ends what merges of follows have left open (`merge_timeline`): resets the timeline if readers have passed posts that
-- the merges have added.
-- KEYS[1]  the timeline     KEYS[2]  posts removed from it: a sorted set
-- KEYS[3]  the follows whose next merge resets the timeline: a sorted set
-- ARGV[1]  '1' to reset the timeline     ARGV[2…]  the followed users
-- Returns  1
for index = 2, #ARGV do redis.call('ZREM', KEYS[3], 'late:' .. ARGV[index]) end
if ARGV[1] == '1' then reset(KEYS[1], KEYS[2]) end
return 1
