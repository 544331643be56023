-- Creates a timeline if it does not exist, renews its expiry, and returns the sources to pull from.
-- KEYS[1]  the timeline    KEYS[2]  the users that its owner follows
-- KEYS[3]  posts removed from the timeline: a sorted set
-- KEYS[4]  the sessions, which have the version of the exclusions
-- ARGV[1]  the nonce of a new timeline         ARGV[2]  seconds until the timeline expires
-- ARGV[3]  the generation of the strategy in force
-- ARGV[4]  sources to pull from if the timeline is filled: 'all' followed users, or the followed users 'named' below
-- ARGV[5]  'forward' or 'backward'   ARGV[6]  size   ARGV[7]  post or '': a page of the timeline
-- ARGV[8…] named users, of whom the owner may follow some
-- Returns  { nonce, mark ('' if unfilled), { sources to pull from }, floor, { the page }, the time up to which
--          the page reflects all removals, the version of the exclusions at that time or nil }
local seal = read_seal(KEYS[1])
local upto = string.format('%.0f', removed_upto(KEYS[3]))
if not seal then
  -- Removals were not recorded while there was no timeline.
  redis.call('ZADD', KEYS[3], upto, '0')
  redis.call('PEXPIRE', KEYS[3], REMOVALS_MILLIS)
  seal = { nonce = ARGV[1], floor = 0, generation = '' }
  redis.call('RPUSH', KEYS[1], print_seal(seal))
end
redis.call('EXPIRE', KEYS[1], ARGV[2])
local is_filled = seal.generation == ARGV[3] and seal.mark
local sources = {}
if not is_filled or ARGV[4] == 'all' then
  sources = redis.call('ZRANGE', KEYS[2], 0, -1)
elseif #ARGV > 7 then
  for index, time in ipairs(redis.call('ZMSCORE', KEYS[2], unpack(ARGV, 8))) do
    if time then sources[#sources + 1] = ARGV[7 + index] end
  end
end
local mark = is_filled and string.format('%.0f', seal.mark) or ''
local length = redis.call('LLEN', KEYS[1]) - 1
local ids = page(KEYS[1], length, ARGV[5], tonumber(ARGV[6]), tonumber(ARGV[7]))
local exclusions = redis.call('HGET', KEYS[4], 'exclusions')
return { seal.nonce, mark, sources, string.format('%.0f', seal.floor), ids, upto, exclusions }
