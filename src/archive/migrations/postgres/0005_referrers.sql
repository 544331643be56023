-- The posts that refer to an archived post: its replies (kind 1), and the posts that quote it (kind 2).
CREATE TABLE referrers (
    kind SMALLINT NOT NULL,
    target BIGINT NOT NULL,
    referrer BIGINT NOT NULL,
    PRIMARY KEY (target, kind, referrer)
);
