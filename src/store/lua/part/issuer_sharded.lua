-- Shared part of the script that issues ids, in a cluster. Returns true if another node has issued the last id: a
-- replica that has taken over may have lost the latest ids.

local function is_new_issuer(key)
  local node = redis.call('CLUSTER', 'MYID')
  local last = redis.call('GET', key)
  if last == node then return false end
  redis.call('SET', key, node)
  return last
end
