-- Finds an author's posts of a period. MySQL cannot create an index only if it does not exist.
SET @create_index = IF(
    EXISTS (
        SELECT 1 FROM information_schema.statistics
        WHERE table_schema = DATABASE() AND table_name = 'posts' AND index_name = 'posts_by_time'
    ),
    'DO 0',
    'CREATE INDEX posts_by_time ON posts (author, deleted, created_at)'
);
PREPARE create_index FROM @create_index;
EXECUTE create_index;
DEALLOCATE PREPARE create_index;
