-- Announces an author of a new post that followers pull, in a cluster.
-- KEYS[1]  the channel
-- ARGV[1]  the author
-- Returns  nothing
publish(KEYS[1], ARGV[1])
