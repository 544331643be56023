-- Shared part of the scripts that publish signals, in a cluster. The channel is in the slot of the script's keys.
-- Without a subscriber nothing is published, because the message would be sent to the master's replicas. `pcall` lets a
-- Redis user without permission to publish still write.

local function publish(channel, message)
  local subscribers = redis.pcall('PUBSUB', 'SHARDNUMSUB', channel)[2]
  if subscribers ~= 0 then redis.pcall('SPUBLISH', channel, message) end
end
