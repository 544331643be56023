-- Revokes the id of a user who does not exist: a late writer then finds the id revoked.
-- KEYS[1]  the record      KEYS[2]  the revoked items
-- ARGV[1]  the current time    ARGV[2]  milliseconds for which this is recorded: longer than any writer lives
-- Returns  1 if the user exists (and nothing was done), 0 if the id is revoked now
if redis.call('EXISTS', KEYS[1]) == 1 then return 1 end
record(KEYS[2], 'user', ARGV[1], ARGV[2])
return 0
