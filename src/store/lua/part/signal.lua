-- Shared part of the scripts that change data a client may be watching. Publishes a notification that names the change.
-- Subscribers then read the data themselves, so a lost notification is harmless.

local function signal(key, what) publish((string.gsub(key, '[^:]+$', 'live')), what) end
