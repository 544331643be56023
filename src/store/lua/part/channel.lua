-- Shared part of the scripts that publish signals. `pcall` lets a Redis user without permission to publish still write.

local function publish(channel, message) redis.pcall('PUBLISH', channel, message) end
