-- Posts that have become cold, and tombstones of deleted ones (content is null, deleted is 1).
CREATE TABLE posts (
    id BIGINT PRIMARY KEY,
    author BIGINT NOT NULL,
    created_at BIGINT,
    content TEXT,
    platform TEXT,
    delivery TEXT,
    followers BIGINT,
    deleted SMALLINT NOT NULL
);
CREATE INDEX posts_of_author ON posts (author, deleted, id);

-- How many users came on a day, counted in days since 1970-01-01.
CREATE TABLE visits (
    day BIGINT PRIMARY KEY,
    visitors BIGINT NOT NULL
);

-- What holds for the whole archive: `identity`, its name.
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
);
