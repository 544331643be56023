//! Defines the differences between the SQL dialects of the supported databases.

/// A database's SQL dialect: the fragments that differ between databases.
pub(super) trait Dialect: sqlx::Database {
    /// Suffix of a numeric literal that must be returned as a 64-bit integer.
    const LONG: &str;
    /// Function that returns the greatest of its arguments.
    const GREATEST: &str;
    /// Function that returns the least of its arguments.
    const LEAST: &str;
    /// Hint after a table's name to read it by the index of posts in order.
    const IN_ORDER: &str;
    /// Suffix of a SELECT in a transaction that locks the rows.
    const FOR_UPDATE: &str;
    /// Beginning of an INSERT that keeps existing rows, which do not count as affected.
    const INSERT_NEW: &str;
    /// Suffix of the same INSERT.
    const KEEP_EXISTING: &str;
    /// Suffix of an INSERT of a setting that keeps an existing value.
    const KEEP_SETTING: &str;
    /// Suffix of an INSERT of a day's visits that keeps an existing number if it is greater.
    const KEEP_GREATER_VISITS: &str;
    /// Suffix of an INSERT of posts that replaces an earlier version of a post. If the existing post has the same
    /// version, the INSERT may complete its delivery; its details stay, since they may have changed in the archive.
    const REPLACE_EARLIER_POST: &str;
    /// Suffix of an INSERT of tombstones that turns an existing post of the same author into a tombstone.
    const ERASE_POST: &str;
}

macro_rules! on_conflict {
    () => {
        const INSERT_NEW: &str = "INSERT INTO ";
        const KEEP_EXISTING: &str = " ON CONFLICT DO NOTHING";
        const KEEP_SETTING: &str = " ON CONFLICT (name) DO NOTHING";
        const KEEP_GREATER_VISITS: &str = " ON CONFLICT (day) DO UPDATE \
            SET visitors = excluded.visitors WHERE excluded.visitors > visits.visitors";
        const REPLACE_EARLIER_POST: &str = " ON CONFLICT (id) DO UPDATE \
            SET delivery = excluded.delivery, followers = excluded.followers, version = excluded.version, \
            content = CASE WHEN excluded.version > posts.version THEN excluded.content ELSE posts.content END, \
            details = CASE WHEN excluded.version > posts.version THEN excluded.details ELSE posts.details END \
            WHERE posts.deleted = 0 AND posts.author = excluded.author AND posts.created_at = excluded.created_at \
            AND (excluded.version > posts.version \
                OR excluded.version = posts.version AND posts.delivery <> 'delivered')";
        const ERASE_POST: &str = " ON CONFLICT (id) DO UPDATE \
            SET created_at = NULL, content = NULL, platform = NULL, delivery = NULL, followers = NULL, \
            visibility = NULL, details = NULL, deleted = 1 \
            WHERE posts.author = excluded.author";
    };
}

impl Dialect for sqlx::Sqlite {
    const LONG: &str = "";
    const GREATEST: &str = "MAX";
    const LEAST: &str = "MIN";
    const IN_ORDER: &str = "";
    // A writer has the whole database to itself.
    const FOR_UPDATE: &str = "";
    on_conflict!();
}

impl Dialect for sqlx::Postgres {
    const LONG: &str = "::BIGINT";
    const GREATEST: &str = "GREATEST";
    const LEAST: &str = "LEAST";
    const IN_ORDER: &str = "";
    const FOR_UPDATE: &str = " FOR UPDATE";
    on_conflict!();
}

/// MySQL evaluates assignments from left to right; each assignment sees the effects of earlier assignments.
impl Dialect for sqlx::MySql {
    const LONG: &str = "";
    const GREATEST: &str = "GREATEST";
    const LEAST: &str = "LEAST";
    const IN_ORDER: &str = " FORCE INDEX (posts_in_order)";
    const FOR_UPDATE: &str = " FOR UPDATE";
    const INSERT_NEW: &str = "INSERT IGNORE INTO ";
    const KEEP_EXISTING: &str = "";
    const KEEP_SETTING: &str = " ON DUPLICATE KEY UPDATE value = value";
    const KEEP_GREATER_VISITS: &str =
        " ON DUPLICATE KEY UPDATE visitors = GREATEST(visitors, VALUES(visitors))";
    const REPLACE_EARLIER_POST: &str = " ON DUPLICATE KEY UPDATE \
        content = IF(deleted = 0 AND author = VALUES(author) AND created_at = VALUES(created_at) \
            AND VALUES(version) > version, VALUES(content), content), \
        details = IF(deleted = 0 AND author = VALUES(author) AND created_at = VALUES(created_at) \
            AND VALUES(version) > version, VALUES(details), details), \
        followers = IF(deleted = 0 AND author = VALUES(author) AND created_at = VALUES(created_at) \
            AND (VALUES(version) > version OR VALUES(version) = version AND delivery <> 'delivered'), \
            VALUES(followers), followers), \
        delivery = IF(deleted = 0 AND author = VALUES(author) AND created_at = VALUES(created_at) \
            AND (VALUES(version) > version OR VALUES(version) = version AND delivery <> 'delivered'), \
            VALUES(delivery), delivery), \
        version = IF(deleted = 0 AND author = VALUES(author) AND created_at = VALUES(created_at), \
            GREATEST(VALUES(version), version), version)";
    const ERASE_POST: &str = " ON DUPLICATE KEY UPDATE \
        created_at = IF(author = VALUES(author), NULL, created_at), \
        content = IF(author = VALUES(author), NULL, content), \
        platform = IF(author = VALUES(author), NULL, platform), \
        delivery = IF(author = VALUES(author), NULL, delivery), \
        followers = IF(author = VALUES(author), NULL, followers), \
        visibility = IF(author = VALUES(author), NULL, visibility), \
        details = IF(author = VALUES(author), NULL, details), \
        deleted = IF(author = VALUES(author), 1, deleted)";
}
