-- Erases a user's record, password, sessions and recovery code, and revokes the id, so that no late writer brings the
-- user back. Idempotent.
-- KEYS[1]  the record      KEYS[2]  the secret      KEYS[3]  the sessions      KEYS[4]  the revoked items
-- KEYS[5]  the recovery code
-- ARGV[1]  the current time    ARGV[2]  milliseconds for which the revocation is recorded: longer than any write takes
-- Returns  1
record(KEYS[4], 'user', ARGV[1], ARGV[2])
redis.call('DEL', KEYS[1], KEYS[2], KEYS[3], KEYS[5])
return 1
