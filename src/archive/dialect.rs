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
    /// Suffix of an INSERT of a setting that keeps an existing value.
    const KEEP_SETTING: &str;
    /// Suffix of an INSERT of a day's visits that keeps an existing number if it is greater.
    const KEEP_GREATER_VISITS: &str;
    /// Suffix of an INSERT of posts that keeps an existing post, but may complete the post's delivery.
    const KEEP_POST: &str;
    /// Suffix of an INSERT of tombstones that turns an existing post of the same author into a tombstone.
    const ERASE_POST: &str;
}

macro_rules! on_conflict {
    () => {
        const KEEP_SETTING: &str = " ON CONFLICT (name) DO NOTHING";
        const KEEP_GREATER_VISITS: &str = " ON CONFLICT (day) DO UPDATE \
            SET visitors = excluded.visitors WHERE excluded.visitors > visits.visitors";
        const KEEP_POST: &str = " ON CONFLICT (id) DO UPDATE \
            SET delivery = excluded.delivery, followers = excluded.followers \
            WHERE posts.deleted = 0 AND posts.delivery <> 'delivered' \
            AND posts.author = excluded.author AND posts.created_at = excluded.created_at";
        const ERASE_POST: &str = " ON CONFLICT (id) DO UPDATE \
            SET created_at = NULL, content = NULL, platform = NULL, delivery = NULL, followers = NULL, \
            visibility = NULL, deleted = 1 \
            WHERE posts.author = excluded.author";
    };
}

impl Dialect for sqlx::Sqlite {
    const LONG: &str = "";
    const GREATEST: &str = "MAX";
    const LEAST: &str = "MIN";
    const IN_ORDER: &str = "";
    on_conflict!();
}

impl Dialect for sqlx::Postgres {
    const LONG: &str = "::BIGINT";
    const GREATEST: &str = "GREATEST";
    const LEAST: &str = "LEAST";
    const IN_ORDER: &str = "";
    on_conflict!();
}

/// MySQL evaluates assignments from left to right; each assignment sees the effects of earlier assignments.
impl Dialect for sqlx::MySql {
    const LONG: &str = "";
    const GREATEST: &str = "GREATEST";
    const LEAST: &str = "LEAST";
    const IN_ORDER: &str = " FORCE INDEX (posts_in_order)";
    const KEEP_SETTING: &str = " ON DUPLICATE KEY UPDATE value = value";
    const KEEP_GREATER_VISITS: &str =
        " ON DUPLICATE KEY UPDATE visitors = GREATEST(visitors, VALUES(visitors))";
    const KEEP_POST: &str = " ON DUPLICATE KEY UPDATE \
        followers = IF(deleted = 0 AND delivery <> 'delivered' AND author = VALUES(author) \
            AND created_at = VALUES(created_at), VALUES(followers), followers), \
        delivery = IF(deleted = 0 AND delivery <> 'delivered' AND author = VALUES(author) \
            AND created_at = VALUES(created_at), VALUES(delivery), delivery)";
    const ERASE_POST: &str = " ON DUPLICATE KEY UPDATE \
        created_at = IF(author = VALUES(author), NULL, created_at), \
        content = IF(author = VALUES(author), NULL, content), \
        platform = IF(author = VALUES(author), NULL, platform), \
        delivery = IF(author = VALUES(author), NULL, delivery), \
        followers = IF(author = VALUES(author), NULL, followers), \
        visibility = IF(author = VALUES(author), NULL, visibility), \
        deleted = IF(author = VALUES(author), 1, deleted)";
}
