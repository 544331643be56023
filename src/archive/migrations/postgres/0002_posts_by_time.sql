-- Finds an author's posts of a period.
CREATE INDEX posts_by_time ON posts (author, deleted, created_at);
