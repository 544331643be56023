-- Reads an author's posts in order, also those of a period: it has all that the search for their ids needs. MySQL has no
-- statement that creates an index only if it does not exist.
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND index_name = 'posts_in_order'
    ),
    'DO 0',
    'CREATE INDEX posts_in_order ON posts (author, deleted, id, created_at)'
);
PREPARE statement FROM @statement;
EXECUTE statement;
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND index_name = 'posts_of_author'
    ),
    'DROP INDEX posts_of_author ON posts',
    'DO 0'
);
PREPARE statement FROM @statement;
EXECUTE statement;

-- Finds the post nearest to a time.
SET @statement = IF(
    EXISTS (
        SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND index_name = 'posts_by_time'
    ),
    'DO 0',
    'CREATE INDEX posts_by_time ON posts (author, deleted, created_at)'
);
PREPARE statement FROM @statement;
EXECUTE statement;
DEALLOCATE PREPARE statement;
