-- Shared part of the scripts that remove a post from a timeline and record the removal.

-- Returns 1 if the timeline contained the post. Also records the removal of a post below the floor: the timeline does
-- not contain the post, but a client may display it.
local function remove(timeline, removed, id)
  local seal = read_seal(timeline)
  if not seal then return 0 end
  local was_there = redis.call('LREM', timeline, 1, id)
  if was_there == 1 or tonumber(id) < seal.floor then
    if note_removal(removed, id) then signal(timeline, 'timeline') end
  end
  return was_there
end
