//! Errors of the archive database. Each message states the remedy.
//!
//! Not here: errors reported to clients (`app::error`, `graphql::error`).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use sqlx::migrate::MigrateError;

use crate::budget::Exceeded;

/// A failure of the archive. Cheap to clone: one failed statement fails every query in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The URL is invalid.
    #[error(
        "invalid archive URL ({0}): expected sqlite:path, mysql://user:password@host/database, \
         mariadb://… or postgres://…"
    )]
    Url(Cow<'static, str>),
    /// The archive file or its directory cannot be created.
    #[error(
        "{} cannot be created for the archive; choose another with --data-dir or --archive-url",
        .0.display()
    )]
    Directory(PathBuf, #[source] Arc<std::io::Error>),
    /// The connection failed or broke.
    #[error(
        "the archive cannot be reached; check --archive-url, and that its database is running and not locked by \
         another program"
    )]
    Unreachable(#[source] Arc<sqlx::Error>),
    /// The database did not respond in time.
    #[error(
        "the archive did not respond in time; check that its database is healthy and not locked by another program"
    )]
    Slow,
    /// The archive does not contain a row that was just written.
    #[error(
        "data written to the archive is not found there; check that --archive-url leads to the primary database, \
         not to a lagging replica"
    )]
    Unseen,
    /// Authentication failed, or the user lacks a permission.
    #[error(
        "the archive database denies access; check the user and password in --archive-url, and the user's permissions"
    )]
    Denied(#[source] Arc<sqlx::Error>),
    /// The database does not exist.
    #[error("the archive database does not exist; create it, or specify another with --archive-url")]
    NoDatabase(#[source] Arc<sqlx::Error>),
    /// The file or the server is read-only.
    #[error(
        "the archive cannot be opened for writing: its file, directory or server is read-only, or its path is not a \
         file. Make it writable for this user, or specify another with --archive-url"
    )]
    ReadOnly(#[source] Arc<sqlx::Error>),
    /// The disk is full or failing.
    #[error(
        "the archive's disk is full or failing; free some space or replace the disk. Until then, posts wait in \
         Redis and none are lost"
    )]
    Full(#[source] Arc<sqlx::Error>),
    /// A newer version has used the archive.
    #[error(
        "the archive was last used by a newer Fanfold (its schema version is {found}, this version supports {known}); \
         use that version"
    )]
    Newer {
        /// The archive's schema version.
        found: i64,
        /// The latest schema version that this version supports.
        known: i64,
    },
    /// The file is not a database, not an archive, or damaged.
    #[error(
        "the archive is damaged, or not a Fanfold archive; restore a backup, or specify another with --archive-url"
    )]
    Damaged(#[source] Arc<sqlx::Error>),
    /// The tables cannot be migrated to this version's schema.
    #[error("the archive's tables cannot be migrated to this version's schema")]
    Form(#[source] Arc<MigrateError>),
    /// Stored data is malformed.
    #[error("an archived post cannot be read: {0}")]
    Corrupt(Box<str>),
    /// The database rejected a statement.
    #[error("the archive rejected a statement")]
    Rejected(#[source] Arc<sqlx::Error>),
    /// The operation exceeds its budget.
    #[error("an operation exceeds its budget: {0}")]
    OverBudget(Exceeded),
}

impl Error {
    /// Returns true if a retry may succeed without a change of configuration.
    #[must_use]
    pub fn is_passing(&self) -> bool {
        matches!(self, Self::Unreachable(_) | Self::Slow | Self::Unseen | Self::Full(_))
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::OverBudget(exceeded)
    }
}

impl From<sqlx::Error> for Error {
    fn from(error: sqlx::Error) -> Self {
        use sqlx::Error as E;
        let kind: fn(Arc<E>) -> Self = match &error {
            E::PoolTimedOut => return Self::Slow,
            E::Io(_) | E::Tls(_) | E::PoolClosed | E::WorkerCrashed | E::Protocol(_) => Self::Unreachable,
            E::Configuration(cause) => return Self::Url(cause.to_string().into()),
            E::Database(error) => kind_of(error.as_ref()),
            _ => Self::Rejected,
        };
        kind(Arc::new(error))
    }
}

impl Error {
    /// Converts an error from a migration to the schema version `known`.
    pub(super) fn of_migration(error: MigrateError, known: i64) -> Self {
        match error {
            MigrateError::VersionMissing(found) => Self::Newer { found, known },
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            error => Self::Form(Arc::new(error)),
        }
    }
}

/// Classifies a database error: SQLite by the lowest byte of its result code, MySQL and MariaDB by error
/// number, PostgreSQL by SQLSTATE.
fn kind_of(error: &dyn sqlx::error::DatabaseError) -> fn(Arc<sqlx::Error>) -> Error {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return match error.number() {
            1044 | 1045 | 1142 | 1227 | 1698 => Error::Denied,
            1049 => Error::NoDatabase,
            1290 | 1792 | 1836 => Error::ReadOnly,
            1021 | 1030 | 1114 | 3675 => Error::Full,
            1040 | 1053 | 1077 | 1079 | 1152 | 1158..=1161 | 1203 | 1205 | 1213 | 1317 => Error::Unreachable,
            _ => Error::Rejected,
        };
    }
    let code = error.code().unwrap_or_default();
    if error.try_downcast_ref::<sqlx::postgres::PgDatabaseError>().is_some() {
        return match &*code {
            "28000" | "28P01" | "42501" => Error::Denied,
            "3D000" => Error::NoDatabase,
            "25006" => Error::ReadOnly,
            "53100" => Error::Full,
            code if ["08", "53", "57", "40", "55"].iter().any(|class| code.starts_with(class)) => {
                Error::Unreachable
            }
            "XX001" | "XX002" => Error::Damaged,
            _ => Error::Rejected,
        };
    }
    match code.parse::<u32>().map_or(1, |code| code & 0xff) {
        5 | 6 => Error::Unreachable,
        8 | 14 | 23 | 3 => Error::ReadOnly,
        10 | 13 => Error::Full,
        11 | 26 => Error::Damaged,
        _ => Error::Rejected,
    }
}
