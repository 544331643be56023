-- The version of a post, which grows with each change; what the post has beyond its text, or null for a plain post.
ALTER TABLE posts ADD COLUMN version BIGINT NOT NULL DEFAULT 0;
ALTER TABLE posts ADD COLUMN details TEXT;
