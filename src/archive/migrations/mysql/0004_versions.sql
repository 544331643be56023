-- The version of a post, which grows with each change; what the post has beyond its text, or null for a plain post.
-- MySQL has no statement that adds a column only if it does not exist.
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND column_name = 'version'
    ),
    'DO 0',
    'ALTER TABLE posts ADD COLUMN version BIGINT NOT NULL DEFAULT 0'
);
PREPARE statement FROM @statement;
EXECUTE statement;
DEALLOCATE PREPARE statement;
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.columns
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND column_name = 'details'
    ),
    'DO 0',
    'ALTER TABLE posts ADD COLUMN details TEXT'
);
PREPARE statement FROM @statement;
EXECUTE statement;
DEALLOCATE PREPARE statement;
