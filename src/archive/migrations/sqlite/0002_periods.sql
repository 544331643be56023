-- Reads an author's posts in order, also those of a period: it has all that the search for their ids needs.
CREATE INDEX posts_in_order ON posts (author, deleted, id, created_at);
DROP INDEX posts_of_author;

-- Finds the post nearest to a time.
CREATE INDEX posts_by_time ON posts (author, deleted, created_at);
