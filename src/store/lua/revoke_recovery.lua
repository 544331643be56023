-- Revokes the recovery code of a user, unless the operator has issued it. Idempotent.
-- KEYS[1]  the recovery code
-- ARGV[1]  the moderator whose code to revoke, or '' for any moderator
-- Returns  1 if there was such a code, else 0
local issuer = redis.call('HGET', KEYS[1], 'issuer')
if not issuer or issuer == 'operator' then return 0 end
if ARGV[1] ~= '' and issuer ~= ARGV[1] then return 0 end
return revoke_recovery(KEYS[1])
