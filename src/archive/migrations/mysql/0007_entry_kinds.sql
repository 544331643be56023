-- The author of a post that refers to an archived post, in limited entries (kinds 4 to 6), whose readers look up whether they
-- follow the author; otherwise null. Listed entries are kinds 1 to 3, and withheld ones 7 to 9. MySQL has no statement that
-- adds a column only if it does not exist.
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'referrers' AND column_name = 'author'
    ),
    'DO 0',
    'ALTER TABLE referrers ADD COLUMN author BIGINT'
);
PREPARE statement FROM @statement;
EXECUTE statement;
DEALLOCATE PREPARE statement;
