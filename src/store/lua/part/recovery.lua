-- Shared part of the scripts that revoke a user's recovery code.

local function revoke_recovery(recovery)
  local revoked = redis.call('DEL', recovery)
  if revoked == 1 then signal(recovery, 'recovery') end
  return revoked
end

-- Revokes the code, unless the operator has issued it: a thief of the account could revoke that as well.
local function revoke_of_moderator(recovery)
  local issuer = redis.call('HGET', recovery, 'issuer')
  if issuer and issuer ~= 'operator' then revoke_recovery(recovery) end
end
