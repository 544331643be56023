-- Removes a post from a timeline, if the timeline exists. Idempotent.
-- KEYS[1]  the timeline    KEYS[2]  posts removed from it: a sorted set
-- ARGV[1]  the post
-- Returns  1 if the timeline contained the post, else 0
return remove(KEYS[1], KEYS[2], ARGV[1])
