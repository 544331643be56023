-- Shared part of the scripts that read mutes. A mute is `since:until:scope`; `until` is empty if it has no end.

local function has_ended(mute, now)
  local till = tonumber(string.match(mute, '^%d+:(%d+):'))
  return till and till <= tonumber(now)
end
