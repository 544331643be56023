-- Deletes an invite.
-- KEYS[1]  the list of invites     KEYS[2]  the invite
-- KEYS[3]  its users               KEYS[4]  those of them who may not exist
-- ARGV[1]  the invite's code
-- Returns  1 if the invite existed
redis.call('DEL', KEYS[2], KEYS[3], KEYS[4])
return redis.call('ZREM', KEYS[1], ARGV[1])
