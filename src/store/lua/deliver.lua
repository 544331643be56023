-- Pushes a post to a timeline, if the timeline exists. Idempotent.
-- KEYS[1]  the timeline
-- ARGV[1]  the post        ARGV[2]  the capacity of a timeline
-- Returns  1 if the timeline contains the post now, 0 if the timeline is missing or does not reach down to the post
return deliver(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
