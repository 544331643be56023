-- Shared part of the scripts that push a post to a timeline: adds its id, if the timeline exists and reaches down to
-- the id. Returns 1 if the id is there afterwards.
local function deliver(key, id, capacity)
  local seal = read_seal(key)
  if not seal or id < seal.floor then return 0 end
  local length = redis.call('LLEN', key) - 1
  local _, is_new = insert(key, length, id)
  if is_new then
    trim(key, seal, length + 1, capacity)
    signal(key, 'timeline')
  end
  return 1
end
