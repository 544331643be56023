-- Records how far the conversion of the lists of referrers has come, unless another server has recorded more.
-- KEYS[1]  the layout
-- ARGV[1]  the progress as read, '' for none    ARGV[2]  the progress now
-- Returns  1 if it is recorded, 0 otherwise
if (redis.call('HGET', KEYS[1], 'entry_kinds') or '') ~= ARGV[1] then return 0 end
redis.call('HSET', KEYS[1], 'entry_kinds', ARGV[2])
return 1
