-- Revokes the id of a user who does not exist. A late writer then finds the id revoked.
-- KEYS[1]  the record      KEYS[2]  the revoked items
-- ARGV[1]  the current time    ARGV[2]  milliseconds for which the revocation is recorded: longer than any write takes
-- Returns  1 if the user exists (the script then does nothing), 0 if the id is revoked now
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
record(KEYS[2], 'user', ARGV[1], ARGV[2])
return 0
