-- Shared part of the scripts that push a post to a timeline. Adds the post's id, if the timeline exists and reaches
-- down to the post. Returns 1 if the timeline now contains the id.
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
