-- Records that the store uses a feature, so that servers which do not know it refuse the store. Idempotent.
-- KEYS[1]  the layout
-- ARGV[1]  the feature
-- Returns  1 if the feature is new, else 0
local features = redis.call('HGET', KEYS[1], 'features') or ''
for feature in string.gmatch(features, '%S+') do
  if feature == ARGV[1] then return 0 end
end
redis.call('HSET', KEYS[1], 'features', (string.gsub(features .. ' ' .. ARGV[1], '^ ', '')))
return 1
