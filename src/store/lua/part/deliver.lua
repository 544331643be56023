-- Part of the scripts that bring a post to a timeline: puts its id there, if there is one and it reaches
-- down to the id. Returns 1 if it is there.
local function deliver(key, id, capacity)
  local seal = read_seal(key)
  if not seal or id < seal.floor then return 0 end
  local length = redis.call('LLEN', key) - 1
  local _, is_new = insert(key, length, id)
  if is_new then
    trim(key, seal, length + 1, capacity)
    tell(key, 'timeline')
  end
  return 1
end
