-- Shared part of the scripts that write keys of a user that expire, and whose names nothing else has, see
-- `store::expiring`.

-- Time for which the name of a key that has expired stays, in milliseconds: longer than a writer takes until it writes the
-- key for the last time, and than the clocks of servers differ.
local STAYS = 600000

-- Notes a key that expires in `life` milliseconds, by the part of its name after the tag, and forgets those that have
-- expired. `names` is the key of the names.
local function note_expiring(names, key, now, life)
  local stays = life + STAYS
  redis.call('ZREMRANGEBYSCORE', names, '-inf', string.format('%.0f', now))
  redis.call('ZADD', names, 'GT', string.format('%.0f', now + stays), string.match(key, '}:(.*)$'))
  if redis.call('PTTL', names) < stays then redis.call('PEXPIRE', names, string.format('%.0f', stays)) end
end
