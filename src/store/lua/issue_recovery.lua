-- Issues a recovery code for a user, in place of the one before. A moderator issues none for a moderator, and none in
-- place of the operator's. Idempotent.
-- KEYS[1]  the user's record      KEYS[2]  the secret      KEYS[3]  the recovery code
-- ARGV[1]  the issuer: 'operator' or a user       ARGV[2]  the current time, that of issue
-- ARGV[3]  the time from which it is no longer valid      ARGV[4]  the milliseconds until then
-- ARGV[5]  the time from which it is valid        ARGV[6]  its hash
-- Returns  1 if issued, 0 if the user can have no such code now
local record = redis.call('HMGET', KEYS[1], 'username', 'moderator')
if not record[1] or redis.call('HEXISTS', KEYS[2], 'subject') == 1 then return 0 end
if ARGV[1] ~= 'operator' then
  if record[2] == '1' then return 0 end
  local held = redis.call('HMGET', KEYS[3], 'issuer', 'expires_at')
  if held[1] == 'operator' and tonumber(held[2]) > tonumber(ARGV[2]) then return 0 end
end
redis.call('HSET', KEYS[3], 'issuer', ARGV[1], 'issued_at', ARGV[2], 'expires_at', ARGV[3], 'valid_from', ARGV[5],
  'code', ARGV[6])
redis.call('PEXPIRE', KEYS[3], ARGV[4])
signal(KEYS[3], 'recovery')
return 1
