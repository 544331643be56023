-- The earlier versions of an archived post: the first one, whose edition is 0, and the newest others.
CREATE TABLE edits (
    post BIGINT NOT NULL,
    edition BIGINT NOT NULL,
    written_at BIGINT NOT NULL,
    content TEXT NOT NULL,
    PRIMARY KEY (post, edition)
);
