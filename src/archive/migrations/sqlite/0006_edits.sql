-- The earlier versions of an archived post: the first one, whose edition is 0, and the newest others.
CREATE TABLE edits (
    post INTEGER NOT NULL,
    edition INTEGER NOT NULL,
    written_at INTEGER NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (post, edition)
) STRICT;
