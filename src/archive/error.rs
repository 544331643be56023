//! What can go wrong between here and the SQL database: each says what to do about it.
//!
//! Not here: what a client is told (`app::error`, `graphql::error`).

use std::borrow::Cow;
use std::path::PathBuf;
use std::sync::Arc;

use sqlx::migrate::MigrateError;

use crate::budget::Exceeded;

/// A failure of the archive. Cheap to clone: one failed query fails every question in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The URL cannot be used.
    #[error(
        "the archive URL is not usable ({0}): expected sqlite:path, mysql://user:password@host/database, \
         mariadb://… or postgres://…"
    )]
    Url(Cow<'static, str>),
    /// The file of the archive, or its directory, cannot be made.
    #[error(
        "{} cannot be made for the archive; choose another with --data-dir or --archive-url",
        .0.display()
    )]
    Directory(PathBuf, #[source] Arc<std::io::Error>),
    /// No connection, or a connection that broke.
    #[error(
        "the archive cannot be reached; see that its database runs, that no other program locks it, and that \
         --archive-url is right"
    )]
    Unreachable(#[source] Arc<sqlx::Error>),
    /// No answer in time.
    #[error(
        "the archive does not answer in time; see that its database is well, and not locked by another program"
    )]
    Slow,
    /// What was written is not there when it is read.
    #[error(
        "what was written to the archive is not found there; see that --archive-url leads to the database itself, \
         not to a copy that lags behind"
    )]
    Unseen,
    /// The user or the password is wrong, or the user may not do what has to be done.
    #[error(
        "the archive's database refuses its user; see that user, password and rights in --archive-url are right"
    )]
    Denied(#[source] Arc<sqlx::Error>),
    /// There is no such database.
    #[error("there is no such database for the archive; create it, or name another with --archive-url")]
    NoDatabase(#[source] Arc<sqlx::Error>),
    /// The file or the server takes no writes.
    #[error(
        "the archive cannot be opened for writing: its file, directory or server is read-only, or its file is none. \
         Make it writable for this user, or name another with --archive-url"
    )]
    ReadOnly(#[source] Arc<sqlx::Error>),
    /// The disk is full, or fails.
    #[error(
        "there is no room left where the archive is kept, or its disk fails; see to that. Posts wait in Redis, \
         none is lost"
    )]
    Full(#[source] Arc<sqlx::Error>),
    /// A newer version has been here.
    #[error(
        "the archive was last used by a newer Fanfold (its form is number {found}, this version knows {known}); \
         use that one"
    )]
    Newer {
        /// The number of its form.
        found: i64,
        /// The greatest that is known here.
        known: i64,
    },
    /// Not a database, or not one of ours, or one that is damaged.
    #[error(
        "the archive is damaged, or no archive of Fanfold; restore it from a backup, or name another with --archive-url"
    )]
    Damaged(#[source] Arc<sqlx::Error>),
    /// The tables are not as this version made them.
    #[error("the tables of the archive cannot be brought to the form that this version knows")]
    Form(#[source] Arc<MigrateError>),
    /// What is stored has not the form it should have.
    #[error("an archived post cannot be read: {0}")]
    Corrupt(Box<str>),
    /// The database refuses what it was sent.
    #[error("the archive refuses a statement")]
    Refused(#[source] Arc<sqlx::Error>),
    /// The budget of the operation does not allow it.
    #[error("an operation exceeds its budget: {0}")]
    OverBudget(Exceeded),
}

impl Error {
    /// Whether it may be otherwise in a moment, without anybody changing what was configured.
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
            _ => Self::Refused,
        };
        kind(Arc::new(error))
    }
}

impl Error {
    /// What it means that the tables could not be brought to the form `known` here.
    pub(super) fn of_migration(error: MigrateError, known: i64) -> Self {
        match error {
            MigrateError::VersionMissing(found) => Self::Newer { found, known },
            MigrateError::Execute(error) | MigrateError::ExecuteMigration(error, _) => error.into(),
            error => Self::Form(Arc::new(error)),
        }
    }
}

/// What a database means by an error: SQLite by its result code, of which the lowest byte tells the kind;
/// MySQL and MariaDB by a number; PostgreSQL by SQLSTATE.
fn kind_of(error: &dyn sqlx::error::DatabaseError) -> fn(Arc<sqlx::Error>) -> Error {
    if let Some(error) = error.try_downcast_ref::<sqlx::mysql::MySqlDatabaseError>() {
        return match error.number() {
            1044 | 1045 | 1142 | 1227 | 1698 => Error::Denied,
            1049 => Error::NoDatabase,
            1290 | 1792 | 1836 => Error::ReadOnly,
            1021 | 1030 | 1114 | 3675 => Error::Full,
            1040 | 1053 | 1077 | 1079 | 1152 | 1158..=1161 | 1203 | 1205 | 1213 | 1317 => Error::Unreachable,
            _ => Error::Refused,
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
            _ => Error::Refused,
        };
    }
    match code.parse::<u32>().map_or(1, |code| code & 0xff) {
        5 | 6 => Error::Unreachable,
        8 | 14 | 23 | 3 => Error::ReadOnly,
        10 | 13 => Error::Full,
        11 | 26 => Error::Damaged,
        _ => Error::Refused,
    }
}
