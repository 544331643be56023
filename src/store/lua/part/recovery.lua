-- Shared part of the scripts that void a user's recovery code.

local function void_recovery(recovery)
  local voided = redis.call('DEL', recovery)
  if voided == 1 then signal(recovery, 'recovery') end
  return voided
end

-- Voids the code, unless the operator has issued it: a thief of the account could void that as well.
local function void_of_moderator(recovery)
  local issuer = redis.call('HGET', recovery, 'issuer')
  if issuer and issuer ~= 'operator' then void_recovery(recovery) end
end
