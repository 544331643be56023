//! Creates and pools connections to the supported databases.
//!
//! Not here: the queries (`archive::post`), and the differences between dialects (`archive::dialect`).

use std::fmt;
use std::fs::{DirBuilder, File};
use std::os::unix::fs::{DirBuilderExt as _, OpenOptionsExt as _};
use std::path::Path;
use std::str::FromStr as _;
use std::sync::Arc;
use std::time::Duration;

use sqlx::migrate::{Migrate, MigrateError, Migration, MigrationType, Migrator};
use sqlx::mysql::{MySqlConnectOptions, MySqlPool, MySqlPoolOptions};
use sqlx::pool::PoolConnection;
use sqlx::postgres::{PgConnectOptions, PgPool, PgPoolOptions};
use sqlx::sqlite::{
    SqliteConnectOptions, SqliteJournalMode, SqlitePool, SqlitePoolOptions, SqliteSynchronous,
};
use sqlx::{ConnectOptions, Connection, SqlSafeStr as _};
use tokio::runtime::Handle;

use crate::archive::error::Error;
use crate::config::ArchiveConfig;

/// Timeout for the first connection.
const OPEN: Duration = Duration::from_secs(20);
/// Timeout for creating a connection or waiting for a free connection.
const CONNECT: Duration = Duration::from_secs(3);
/// Timeout for SQLite to wait for another process to finish writing.
const BUSY: Duration = Duration::from_secs(4);

/// SQL that makes MySQL reject values that it would otherwise truncate. Also limits statements to 30 seconds,
/// at least as long as any caller waits. The limit covers all statements in MariaDB, but only reads in MySQL.
/// Each database ignores the comment meant for the other. MariaDB evaluates the subqueries that bound a range before it
/// plans the query, as the other databases do, only if it does not regard them as expensive.
const STRICT: &str = "SET SESSION sql_mode = CONCAT(@@sql_mode, ',STRICT_ALL_TABLES') \
    /*M!, SESSION max_statement_time = 30, SESSION expensive_subquery_limit = 1000000000 */ \
    /*!50708 , SESSION max_execution_time = 30000 */";
/// SQL that deletes MySQL's records of unfinished migrations.
const FORGET_HALF: &str = "DELETE FROM fanfold_migrations WHERE success = FALSE";
/// SQL that returns true if MySQL flushes a transaction to disk before it reports the commit. Only
/// an administrator can change the setting.
const IS_SAFE: &str = "SELECT @@innodb_flush_log_at_trx_commit = 1";
/// SQL that makes PostgreSQL flush a transaction to disk before it reports the commit.
const SAFE: &str = "SELECT set_config('synchronous_commit', 'on', false) \
    WHERE current_setting('synchronous_commit') IN ('off', 'local')";
/// SQL that limits PostgreSQL statements to 30 seconds, at least as long as any caller waits. Since version
/// 14, also cancels statements whose client has disconnected.
const BOUNDED: &str = "SELECT set_config(name, CASE name WHEN 'statement_timeout' THEN '30s' ELSE '1s' END, false) \
    FROM pg_settings WHERE name IN ('statement_timeout', 'client_connection_check_interval')";

/// Table that records the completed migrations.
const MIGRATIONS: &str = "fanfold_migrations";

macro_rules! migrations {
    ($kind:literal) => {
        &[
            (1, include_str!(concat!("migrations/", $kind, "/0001_posts.sql"))),
            (2, include_str!(concat!("migrations/", $kind, "/0002_periods.sql"))),
            (3, include_str!(concat!("migrations/", $kind, "/0003_visibility.sql"))),
            (4, include_str!(concat!("migrations/", $kind, "/0004_versions.sql"))),
            (5, include_str!(concat!("migrations/", $kind, "/0005_referrers.sql"))),
            (6, include_str!(concat!("migrations/", $kind, "/0006_edits.sql"))),
            (7, include_str!(concat!("migrations/", $kind, "/0007_entry_kinds.sql"))),
            (8, include_str!(concat!("migrations/", $kind, "/0008_likes.sql"))),
        ]
    };
}

/// Numbered migrations of the tables. Released migrations never change.
type Steps = &'static [(i64, &'static str)];
const SQLITE: Steps = migrations!("sqlite");
const MYSQL: Steps = migrations!("mysql");
const POSTGRES: Steps = migrations!("postgres");
/// Number of the latest migration, which is the same for all kinds of databases.
pub(super) const LATEST: i64 = SQLITE[SQLITE.len() - 1].0;

/// A connection pool of one database.
#[derive(Clone)]
pub(super) enum Pool {
    Sqlite(SqlitePool),
    Mysql(MySqlPool),
    Postgres(PgPool),
}

/// A connection checked out for one query.
///
/// # Why
/// A caller may be cancelled or time out at any point, and a failure may leave the connection in any state.
/// Dropping a connection without giving it back closes it. No other caller then gets a connection with a
/// partial response or an unfinished transaction, and a connection on a dead network path does not keep its
/// place in the pool.
pub(super) struct Held<Sql: sqlx::Database>(Option<PoolConnection<Sql>>);

impl<Sql: sqlx::Database> Held<Sql> {
    async fn of(pool: &sqlx::Pool<Sql>) -> Result<Self, Error> {
        let may_connect = pool.num_idle() == 0 && pool.size() < pool.options().get_max_connections();
        Ok(Self(Some(if may_connect { acquire_apart(pool).await? } else { pool.acquire().await? })))
    }

    pub(super) fn connection(&mut self) -> &mut Sql::Connection {
        self.0.as_mut().expect("held until given back")
    }

    fn give_back(mut self) {
        drop(self.0.take());
    }
}

impl<Sql: sqlx::Database> Drop for Held<Sql> {
    fn drop(&mut self) {
        if let Some(connection) = self.0.take() {
            drop(connection.detach());
        }
    }
}

/// Acquires a connection in a thread of its own, and connects there if none is free. PostgreSQL's driver yields 800
/// times while it hashes a password. Among the tasks of a busy server, each time takes a turn of all, and all together
/// longer than [`CONNECT`].
async fn acquire_apart<Sql: sqlx::Database>(pool: &sqlx::Pool<Sql>) -> Result<PoolConnection<Sql>, Error> {
    let (runtime, acquiring) = (Handle::current(), pool.acquire());
    let acquired = tokio::task::spawn_blocking(move || runtime.block_on(acquiring)).await;
    // Panics only if the runtime ends.
    Ok(acquired.map_err(|_| Error::Slow)??)
}

/// A connection to any of the three kinds of databases.
pub(super) enum Lease {
    Sqlite(Held<sqlx::Sqlite>),
    Mysql(Held<sqlx::MySql>),
    Postgres(Held<sqlx::Postgres>),
}

impl Lease {
    /// Returns the connection to the pool after a complete response.
    pub(super) fn give_back(self) {
        match self {
            Self::Sqlite(held) => held.give_back(),
            Self::Mysql(held) => held.give_back(),
            Self::Postgres(held) => held.give_back(),
        }
    }
}

impl Pool {
    pub(super) async fn lease(&self) -> Result<Lease, Error> {
        Ok(match self {
            Self::Sqlite(pool) => Lease::Sqlite(Held::of(pool).await?),
            Self::Mysql(pool) => Lease::Mysql(Held::of(pool).await?),
            Self::Postgres(pool) => Lease::Postgres(Held::of(pool).await?),
        })
    }

    pub(super) fn connections(&self) -> u32 {
        match self {
            Self::Sqlite(pool) => pool.size(),
            Self::Mysql(pool) => pool.size(),
            Self::Postgres(pool) => pool.size(),
        }
    }

    /// Closes all connections. SQLite then merges its write-ahead log into the database file.
    pub(super) async fn close(&self) {
        match self {
            Self::Sqlite(pool) => pool.close().await,
            Self::Mysql(pool) => pool.close().await,
            Self::Postgres(pool) => pool.close().await,
        }
    }
}

/// Runs a block with any kind of connection. The compiler compiles the block once per kind.
macro_rules! on {
    ($lease:expr, |$name:ident, $kind:ident| $block:expr) => {
        match $lease {
            $crate::archive::pool::Lease::Sqlite(held) => {
                type $kind = sqlx::Sqlite;
                let $name = held.connection();
                $block
            }
            $crate::archive::pool::Lease::Mysql(held) => {
                type $kind = sqlx::MySql;
                let $name = held.connection();
                $block
            }
            $crate::archive::pool::Lease::Postgres(held) => {
                type $kind = sqlx::Postgres;
                let $name = held.connection();
                $block
            }
        }
    };
}
pub(super) use on;

/// Sets the pool options common to all kinds of databases.
macro_rules! pool_options {
    ($options:ident, $connections:expr) => {
        $options::new().max_connections($connections).acquire_timeout(CONNECT)
    };
}

/// An archive's location and connection options.
#[derive(Clone)]
pub(super) struct Target {
    options: Options,
    connections: u32,
}

#[derive(Clone)]
enum Options {
    Sqlite(SqliteConnectOptions),
    Mysql(MySqlConnectOptions),
    Postgres(Box<PgConnectOptions>),
}

impl fmt::Display for Target {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match &self.options {
            Options::Sqlite(options) => write!(formatter, "SQLite, {}", options.get_filename().display()),
            Options::Mysql(options) => {
                let database = options.get_database().unwrap_or_default();
                write!(formatter, "MySQL, {database} at {}", options.get_host())
            }
            Options::Postgres(options) => {
                let database = options.get_database().unwrap_or_default();
                write!(formatter, "PostgreSQL, {database} at {}", options.get_host())
            }
        }
    }
}

impl Target {
    pub(super) fn new(config: &ArchiveConfig, data_dir: &Path) -> Result<Self, Error> {
        let options = match config.url() {
            Some(url) => Options::parse(url)?,
            None => Options::sqlite(SqliteConnectOptions::new().filename(data_dir.join("archive.db"))),
        };
        Ok(Self { options, connections: config.archive_connections })
    }

    /// Returns the same target, limited to one connection, for a caller that runs one query at a time.
    pub(super) fn with_one_connection(&self) -> Self {
        Self { connections: 1, ..self.clone() }
    }

    /// Returns the OpenTelemetry name of the database system.
    pub(super) fn system(&self) -> &'static str {
        match &self.options {
            Options::Sqlite(_) => "sqlite",
            Options::Mysql(_) => "mysql",
            Options::Postgres(_) => "postgresql",
        }
    }

    /// Returns the schema version of the tables; `None` if there are no tables yet. Changes nothing.
    pub(super) async fn schema(&self) -> Result<Option<i64>, Error> {
        match &self.options {
            Options::Sqlite(options) if !options.get_filename().exists() => Ok(None),
            Options::Sqlite(options) => {
                let connection = options.clone().create_if_missing(false).connect().await?;
                schema(connection, "SELECT COUNT(*) > 0 FROM sqlite_master WHERE name = 'fanfold_migrations'")
                    .await
            }
            Options::Mysql(options) => {
                let exists = "SELECT COUNT(*) > 0 FROM information_schema.tables \
                    WHERE table_schema = DATABASE() AND table_name = 'fanfold_migrations'";
                schema(in_time(options.connect()).await?, exists).await
            }
            Options::Postgres(options) => {
                let exists = "SELECT to_regclass('fanfold_migrations') IS NOT NULL";
                schema(in_time(options.connect()).await?, exists).await
            }
        }
    }

    /// Creates a connection pool, after migrating the tables to the current schema.
    pub(super) async fn open(&self) -> Result<Pool, Error> {
        // Uses a single connection first, because a pool does not report the cause of a failed connection.
        Ok(match &self.options {
            Options::Sqlite(options) => {
                make_directory_of(options.get_filename())?;
                let options = options.clone();
                make_file(&options).await?;
                Pool::Sqlite(pool_options!(SqlitePoolOptions, self.connections).connect_lazy_with(options))
            }
            Options::Mysql(options) => {
                let mut connection = in_time(options.connect()).await?;
                if let Err(error) = migrate(&mut connection, MYSQL).await {
                    // In MySQL, each statement of a migration is a transaction of its own. A process killed
                    // between two statements leaves a marker that blocks other processes. The migrations are
                    // idempotent, so this code repeats them.
                    let Error::Form(cause) = &error else { return Err(error) };
                    if !matches!(**cause, MigrateError::Dirty(_)) {
                        return Err(error);
                    }
                    sqlx::query(FORGET_HALF).execute(&mut connection).await?;
                    migrate(&mut connection, MYSQL).await?;
                }
                let is_safe: i64 = sqlx::query_scalar(IS_SAFE).fetch_one(&mut connection).await?;
                if is_safe == 0 {
                    tracing::warn!(
                        "the archive database may lose commits in a crash: set innodb_flush_log_at_trx_commit to 1"
                    );
                }
                connection.close().await?;
                let pool = pool_options!(MySqlPoolOptions, self.connections);
                let pool = pool.after_connect(|connection, _| {
                    Box::pin(async move { sqlx::query(STRICT).execute(connection).await.map(drop) })
                });
                Pool::Mysql(pool.connect_lazy_with(options.clone()))
            }
            Options::Postgres(options) => {
                let mut connection = in_time(options.connect()).await?;
                migrate(&mut connection, POSTGRES).await?;
                connection.close().await?;
                let options = PgConnectOptions::clone(options);
                let pool = pool_options!(PgPoolOptions, self.connections).after_connect(|connection, _| {
                    Box::pin(async move {
                        sqlx::query(SAFE).execute(&mut *connection).await?;
                        sqlx::query(BOUNDED).execute(connection).await.map(drop)
                    })
                });
                Pool::Postgres(pool.connect_lazy_with(options))
            }
        })
    }
}

impl Options {
    fn parse(url: &str) -> Result<Self, Error> {
        let (scheme, rest) = url.split_once(':').unwrap_or_default();
        Ok(match scheme {
            "sqlite" if rest.contains(":memory:") || rest.contains("mode=memory") => {
                return Err(Error::Url("an in-memory archive would lose posts".into()));
            }
            "sqlite" => Self::sqlite(SqliteConnectOptions::from_str(url)?),
            "mysql" | "mariadb" => {
                Self::Mysql(MySqlConnectOptions::from_str(url)?.disable_statement_logging())
            }
            "postgres" | "postgresql" => {
                let options = PgConnectOptions::from_str(url)?.application_name("fanfold");
                Self::Postgres(Box::new(options.disable_statement_logging()))
            }
            _ => return Err(Error::Url("unknown scheme".into())),
        })
    }

    /// Adds options for durability and privacy. SQLite flushes a commit to disk before it reports the commit,
    /// because Fanfold then deletes the posts from Redis. SQLite also overwrites deleted data in the file.
    fn sqlite(options: SqliteConnectOptions) -> Self {
        let options = options.create_if_missing(true).busy_timeout(BUSY);
        let options = options.journal_mode(SqliteJournalMode::Wal).synchronous(SqliteSynchronous::Full);
        Self::Sqlite(options.pragma("secure_delete", "ON").disable_statement_logging())
    }
}

fn make_directory_of(file: &Path) -> Result<(), Error> {
    match file.parent() {
        // The directory is accessible only to the owner.
        Some(directory) => DirBuilder::new()
            .recursive(true)
            .mode(0o700)
            .create(directory)
            .map_err(|cause| Error::Directory(directory.to_owned(), Arc::new(cause))),
        None => Ok(()),
    }
}

/// Maximum number of attempts at an operation that other processes may be running concurrently.
const ATTEMPTS: u32 = 10;
/// Pause between two attempts.
const PAUSE: Duration = Duration::from_millis(100);

/// Creates the file and its tables, if they do not exist. Retries while another process that is creating the
/// file holds a lock on it.
async fn make_file(options: &SqliteConnectOptions) -> Result<(), Error> {
    let mut attempt = 1;
    loop {
        match try_to_make_file(options).await {
            Err(Error::Unreachable(_)) if attempt < ATTEMPTS => attempt += 1,
            made => return made,
        }
        tokio::time::sleep(PAUSE).await;
    }
}

async fn try_to_make_file(options: &SqliteConnectOptions) -> Result<(), Error> {
    // The file is readable only by the owner. SQLite creates its auxiliary files with the same mode.
    let file = File::options().create(true).append(true).mode(0o600).open(options.get_filename());
    file.map_err(|cause| Error::Directory(options.get_filename().to_owned(), Arc::new(cause)))?;
    let mut connection = options.connect().await?;
    migrate(&mut connection, SQLITE).await?;
    Ok(connection.close().await?)
}

/// Connects to a database within [`OPEN`].
async fn in_time<C>(connecting: impl Future<Output = Result<C, sqlx::Error>>) -> Result<C, Error> {
    Ok(tokio::time::timeout(OPEN, connecting).await.map_err(|_| Error::Slow)??)
}

/// Returns the latest migration that has been completed; `None` if `exists` returns that there is no table of them.
async fn schema<C>(mut connection: C, exists: &'static str) -> Result<Option<i64>, Error>
where
    C: Connection,
    for<'c> &'c mut C: sqlx::Executor<'c, Database = C::Database>,
    bool: sqlx::Type<C::Database> + for<'r> sqlx::Decode<'r, C::Database>,
    Option<i64>: sqlx::Type<C::Database> + for<'r> sqlx::Decode<'r, C::Database>,
    for<'q> <C::Database as sqlx::Database>::Arguments: sqlx::IntoArguments<C::Database>,
    usize: sqlx::ColumnIndex<<C::Database as sqlx::Database>::Row>,
{
    let exists: bool = sqlx::query_scalar(exists).fetch_one(&mut connection).await?;
    let found = if exists {
        let latest = "SELECT MAX(version) FROM fanfold_migrations WHERE success = TRUE";
        sqlx::query_scalar(latest).fetch_one(&mut connection).await?
    } else {
        None
    };
    connection.close().await?;
    Ok(found)
}

/// Migrates the tables to the current schema. Not every kind of database prevents concurrent migrations; the
/// slower process succeeds on a retry.
async fn migrate<C: Migrate>(connection: &mut C, steps: Steps) -> Result<(), Error> {
    let migration = |&(number, sql): &(i64, &'static str)| {
        Migration::new(number, "".into(), MigrationType::Simple, sql.into_sql_str(), false)
    };
    let mut migrator = Migrator::with_migrations(steps.iter().map(migration).collect());
    migrator.dangerous_set_table_name(MIGRATIONS);
    let known = steps.last().map_or(0, |(number, _)| *number);
    let mut attempt = 1;
    loop {
        let migrated = migrator.run_direct(None, connection, false).await;
        match migrated.map_err(|error| Error::of_migration(error, known)) {
            Err(Error::Rejected(_) | Error::Form(_)) if attempt < ATTEMPTS => attempt += 1,
            migrated => return migrated,
        }
        tokio::time::sleep(PAUSE).await;
    }
}
