-- Users who can see the post: 'followers', or null for everyone. MySQL has no statement that adds a column only if it does
-- not exist.
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND column_name = 'visibility'
    ),
    'DO 0',
    'ALTER TABLE posts ADD COLUMN visibility VARCHAR(16)'
);
PREPARE statement FROM @statement;
EXECUTE statement;
DEALLOCATE PREPARE statement;
