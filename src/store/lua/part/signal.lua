-- Shared part of the scripts that change data a client may be watching. Publishes a notification that names the change.
-- Subscribers then read the data themselves, so a lost notification is harmless. `pcall` lets a Redis user
-- without permission to publish still write.

local function signal(key, what)
  redis.pcall('PUBLISH', (string.gsub(key, '[^:]+$', 'live')), what)
end
