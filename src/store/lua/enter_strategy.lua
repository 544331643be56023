-- Sets the timeline strategy.
-- KEYS[1]  the layout
-- ARGV[1]  the strategy
-- Returns  the generation of the strategy, which grows with each change
if redis.call('HGET', KEYS[1], 'timeline_strategy') ~= ARGV[1] then
  redis.call('HSET', KEYS[1], 'timeline_strategy', ARGV[1])
  redis.call('HINCRBY', KEYS[1], 'timeline_generation', 1)
end
return redis.call('HGET', KEYS[1], 'timeline_generation')
