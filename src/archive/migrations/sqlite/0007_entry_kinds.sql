-- The author of a post that refers to an archived post, in limited entries (kinds 4 to 6), whose readers look up whether they
-- follow the author; otherwise null. Listed entries are kinds 1 to 3, and withheld ones 7 to 9.
ALTER TABLE referrers ADD COLUMN author INTEGER;
