-- Part of the scripts that change what a user may be watching just now. Whoever listens is told what has
-- changed and looks for itself: what is said here may be lost, and nothing depends on it. A user of Redis
-- who may not publish writes all the same.

local function tell(key, what)
  redis.pcall('PUBLISH', (string.gsub(key, '[^:]+$', 'live')), what)
end
