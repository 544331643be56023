-- Shared part of the scripts that change data a client may be watching. Publishes a notification that names the change.
-- Subscribers then read the data themselves, so a lost notification is harmless. A Redis user without permission to
-- publish can still write.

local function signal(key, what)
  redis.pcall('PUBLISH', (string.gsub(key, '[^:]+$', 'live')), what)
end
