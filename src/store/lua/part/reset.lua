-- Shared part of the scripts that change what a timeline contains otherwise than by a post: by a follow, a mute, a
-- block or another strategy. Clients then read the timeline again.

-- Records a reset, unless there is no timeline: then there are no records of removals either, and clients start anew.
local function reset(timeline, removed)
  if redis.call('EXISTS', timeline) == 0 then return end
  note_removal(removed, RESET)
  signal(timeline, 'timeline')
end
