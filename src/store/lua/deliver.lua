-- Brings a post to a timeline, if there is one. Twice is once.
-- KEYS[1]  the timeline
-- ARGV[1]  the post        ARGV[2]  how many posts a timeline holds
-- Returns  1 if the timeline has the post now, 0 if there is none, or none that reaches down to it
return deliver(KEYS[1], tonumber(ARGV[1]), tonumber(ARGV[2]))
