-- Shared part of the scripts that write keys of a user that expire, and whose names nothing else has, see
-- `store::expiring`.

-- Time for which the name of a key that has expired stays, in milliseconds: longer than it takes until the key is
-- written for the last time, which renews its lifetime.
local STAYS = 600000

-- Notes a key that expires in `life` milliseconds, by the part of its name after the tag, and forgets those that have
-- expired, by the clock by which they expire. `names` is the key of the names.
local function note_expiring(names, key, life)
  local time = redis.call('TIME')
  local now = time[1] * 1000 + math.floor(time[2] / 1000)
  local stays = life + STAYS
  redis.call('ZREMRANGEBYSCORE', names, '-inf', string.format('%.0f', now))
  redis.call('ZADD', names, 'GT', string.format('%.0f', now + stays), string.match(key, '}:(.*)$'))
  if redis.call('PTTL', names) < stays then redis.call('PEXPIRE', names, string.format('%.0f', stays)) end
end
