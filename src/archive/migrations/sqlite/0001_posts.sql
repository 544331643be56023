-- Posts that have become cold, and tombstones of deleted ones (content is null, deleted is 1).
CREATE TABLE posts (
    id INTEGER PRIMARY KEY,
    author INTEGER NOT NULL,
    created_at INTEGER,
    content TEXT,
    platform TEXT,
    delivery TEXT,
    followers INTEGER,
    deleted INTEGER NOT NULL
) STRICT;
CREATE INDEX posts_of_author ON posts (author, deleted, id);

-- How many users came on a day, counted in days since 1970-01-01.
CREATE TABLE visits (
    day INTEGER PRIMARY KEY,
    visitors INTEGER NOT NULL
) STRICT;

-- What holds for the whole archive: `identity`, its name.
CREATE TABLE settings (
    name TEXT PRIMARY KEY,
    value TEXT NOT NULL
) STRICT;
