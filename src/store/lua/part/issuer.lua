-- Shared part of the script that issues ids. On a single server, `app::counter` raises the counter after a restart.

local function is_new_issuer(key) return false end
