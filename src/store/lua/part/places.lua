-- Shared part of the scripts that change lists at an index, for which Redis has no command: an element is marked for a
-- moment.

-- Inserts an element at an index.
local function insert_at(list, at, element)
  local follower = redis.call('LINDEX', list, at)
  if at == 0 then redis.call('LPUSH', list, element)
  elseif not follower then redis.call('RPUSH', list, element)
  else
    redis.call('LSET', list, at, '-')
    redis.call('LINSERT', list, 'BEFORE', '-', element)
    redis.call('LSET', list, at + 1, follower)
  end
end

-- Removes the element at an index. `from` is 1 if the index is near the front of the list, or -1 if it is near the end.
local function remove_at(list, at, from)
  redis.call('LSET', list, at, '-')
  redis.call('LREM', list, from, '-')
end
