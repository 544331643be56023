-- Writes the source of truth for a user's follows: follows users with public accounts, and requests to follow users
-- with private accounts. A repeated follow or request keeps its time. A request to an account that is public by now
-- becomes a follow. Follows and requests count together against the limit, so that an accepted request does not exceed
-- it. Each new follow or request takes a token.
-- KEYS[1]  the users that the user follows: a sorted set, scored by time      KEYS[2]  the users that the user has
--          requested to follow: the same      KEYS[3]  the follows that are withheld
-- KEYS[4]  the follows whose next merge resets the timeline: a sorted set
-- KEYS[5]  the sessions, which have the version of the exclusions
-- KEYS[6]  the timeline     KEYS[7]  posts removed from it: a sorted set
-- KEYS[8]  the users that the user blocks: a sorted set
-- KEYS[9]  the newest of those who block the user     KEYS[10]  their number
-- KEYS[11…]  for each member, the shards that may contain it, from the root down; then for each member, its bucket
-- ARGV[1]  the follow limit     ARGV[2]  the number of shards of a member
-- ARGV[3]  the capacity of a shard, except those of the last level
-- ARGV[4]  now, in milliseconds, or '' if follows take no tokens
-- ARGV[5]  refill interval of one token, in microseconds
-- ARGV[6]  capacity             ARGV[7]  number of tokens to take
-- ARGV[8…] member, time, 1 if the account is private, else 0; member, …
-- Returns  { for each member { result, time } }, with the results 'followed', 'requested', 'following' (as before),
--          'waiting' (requested before), 'limit', 'blocking', 'blocked' and 'throttled'; the time is '' if there is no
--          follow and no request, or the microseconds until there is a token; then the version of the exclusions or nil
local follows = follows_at(1)
local limit, shards, room = tonumber(ARGV[1]), tonumber(ARGV[2]), tonumber(ARGV[3])
local count = redis.call('ZCARD', follows.following) + redis.call('ZCARD', follows.requesting)
  + redis.call('ZCARD', follows.withheld)
local first_bucket = 11 + (#ARGV - 7) / 3 * shards

local function write(member, at, is_private, path, bucket)
  if redis.call('ZSCORE', KEYS[8], member) then return { 'blocking', '' } end
  if is_in_compact(compact_set_of(KEYS[9], KEYS[10], path), member, room) then return { 'blocked', '' } end
  local state, since = follow_of(follows, member)
  if state == 'following' then return { 'following', since } end
  if state == 'requested' and is_private then return { 'waiting', since } end
  if state == 'requested' then
    accept_request(follows, member, at)
    return { 'followed', at }
  end
  if count >= limit then return { 'limit', '' } end
  local wait = throttle(bucket, 4)
  if wait > 0 then return { 'throttled', string.format('%.0f', wait) } end
  count = count + 1
  if is_private then
    redis.call('ZADD', follows.requesting, at, member)
    raise_exclusions(follows.sessions)
  else
    begin_follow(follows, member, at)
  end
  signal(follows.following, 'relation ' .. member)
  return { is_private and 'requested' or 'followed', at }
end

local results = {}
for index = 8, #ARGV, 3 do
  local first = 11 + #results * shards
  local path = { unpack(KEYS, first, first + shards - 1) }
  local bucket = KEYS[first_bucket + #results]
  results[#results + 1] = write(ARGV[index], ARGV[index + 1], ARGV[index + 2] == '1', path, bucket)
end
return { results, redis.call('HGET', follows.sessions, 'exclusions') }
