-- Writes the source of truth for a user's follows. A repeated follow keeps its time.
-- KEYS[1]      the users that the user follows: a sorted set, scored by time
-- ARGV[1]      the follow limit
-- ARGV[2…]     member, time, member, time, …
-- Returns      for each member { state, time }: state 1 = added, 0 = already followed, -1 = rejected by
--              the limit; time = when the follow was made, '' if rejected
local key, limit = KEYS[1], tonumber(ARGV[1])
local count = redis.call('ZCARD', key)
local answer = {}
for i = 2, #ARGV, 2 do
  local member, time = ARGV[i], ARGV[i + 1]
  local since = redis.call('ZSCORE', key, member)
  if since then
    answer[#answer + 1] = { 0, since }
  elseif count >= limit then
    answer[#answer + 1] = { -1, '' }
  else
    redis.call('ZADD', key, time, member)
    signal(key, 'relation ' .. member)
    count = count + 1
    answer[#answer + 1] = { 1, time }
  end
end
return answer
