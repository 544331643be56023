-- Posts that have become cold, and tombstones of deleted ones (content is null, deleted is 1).
CREATE TABLE IF NOT EXISTS posts (
    id BIGINT PRIMARY KEY,
    author BIGINT NOT NULL,
    created_at BIGINT,
    content TEXT,
    platform VARCHAR(200),
    delivery VARCHAR(16),
    followers BIGINT,
    deleted SMALLINT NOT NULL,
    KEY posts_of_author (author, deleted, id)
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- How many users came on a day, counted in days since 1970-01-01.
CREATE TABLE IF NOT EXISTS visits (
    day BIGINT PRIMARY KEY,
    visitors BIGINT NOT NULL
) ENGINE = InnoDB;

-- What holds for the whole archive: `identity`, its name.
CREATE TABLE IF NOT EXISTS settings (
    name VARCHAR(32) PRIMARY KEY,
    value VARCHAR(64) NOT NULL
) ENGINE = InnoDB CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
