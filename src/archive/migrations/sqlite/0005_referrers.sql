-- The posts that refer to an archived post: its replies (kind 1), and the posts that quote it (kind 2).
CREATE TABLE referrers (
    kind INTEGER NOT NULL,
    target INTEGER NOT NULL,
    referrer INTEGER NOT NULL,
    PRIMARY KEY (target, kind, referrer)
) STRICT, WITHOUT ROWID;
