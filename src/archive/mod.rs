//! The archive of cold posts: the only layer that speaks SQL.
//!
//! The archive is a SQLite, MySQL (or MariaDB) or PostgreSQL database, with the same tables in each. The
//! server opens the archive on first use, and works without it until a request needs cold data. Not here: the
//! conditions under which posts become cold, and the data that stays in Redis (`app::archive`).
//!
//! # Why SQL for old posts
//! Redis holds everything in memory, and most posts are hardly ever read again. A database row takes only disk space.
//! Since Redis then drops its copy, the database must be the more durable of the two.

mod dialect;
pub mod edit;
pub mod error;
pub mod like;
mod list;
mod pool;
pub mod post;
pub mod range;
pub mod referrer;
mod visit;
pub mod write;

use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use parking_lot::Mutex;
use sqlx::QueryBuilder;
use tracing::Instrument as _;

use crate::archive::dialect::Dialect as _;
use crate::archive::error::Error;
use crate::archive::pool::{Lease, Pool, Target, on};
use crate::budget;
use crate::config::ArchiveConfig;
use crate::gate::{Gate, Moment};

/// Directives for log targets that are always disabled: warnings about a URL may contain a password, and
/// database notices are irrelevant.
pub const LOG_DIRECTIVES: [&str; 3] =
    ["sqlx_postgres::options=off", "sqlx_mysql::options=off", "sqlx::postgres::notice=off"];

/// Timeout for closing the archive.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for a query.
const READ_TIMEOUT: Duration = Duration::from_secs(5);
/// Maximum number of ranges of lists read by one statement: SQLite allows 500 in a union.
const MOST_RANGES: usize = 450;
/// Timeout for writing a batch of posts.
const WRITE_TIMEOUT: Duration = Duration::from_secs(30);

/// The archive of one deployment. Cheap to clone.
#[derive(Clone)]
pub struct Archive {
    shared: Arc<Shared>,
    gate: Option<Arc<dyn Gate>>,
}

struct Shared {
    target: Arc<Target>,
    /// The latest attempt to open the archive; `None` before the first attempt.
    opening: Mutex<Option<Opening>>,
    asked: Arc<AtomicU64>,
}

/// An attempt to open an archive, which any number of callers can await.
type Opening = futures::future::Shared<BoxFuture<'static, Result<Pool, Error>>>;

impl Archive {
    /// Creates a handle to the configured archive, by default a file in the data directory. Rejects an
    /// invalid URL, but does not open the archive.
    pub fn new(config: &ArchiveConfig, data_dir: &Path) -> Result<Self, Error> {
        let target = Arc::new(Target::new(config, data_dir)?);
        let shared = Shared { target, opening: Mutex::new(None), asked: Arc::default() };
        Ok(Self { shared: Arc::new(shared), gate: None })
    }

    /// Returns a handle to the same archive, with a gate.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        Self { gate: Some(gate), ..self.clone() }
    }

    /// Returns a handle to the same archive, with a dedicated connection that is never busy with requests.
    #[must_use]
    pub fn apart(&self) -> Self {
        let target = Arc::new(self.shared.target.with_one_connection());
        let asked = Arc::clone(&self.shared.asked);
        let shared = Shared { target, opening: Mutex::new(None), asked };
        Self { shared: Arc::new(shared), gate: self.gate.clone() }
    }

    /// Returns a description of the archive's location, without user and password.
    #[must_use]
    pub fn place(&self) -> String {
        self.shared.target.to_string()
    }

    /// Returns the number of queries that this process has sent to the archive.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections; 0 before the archive is opened.
    #[must_use]
    pub fn connections(&self) -> u32 {
        let opening = self.shared.opening.lock();
        match opening.as_ref().and_then(|opening| opening.peek()) {
            Some(Ok(pool)) => pool.connections(),
            _ => 0,
        }
    }

    /// Closes the archive, if it was opened, once the queries under way have completed.
    pub async fn close(&self) {
        let opening = self.shared.opening.lock().clone();
        if let Some(Ok(pool)) = opening.as_ref().and_then(|opening| opening.peek()) {
            // If a query is still running or the server is down, the connections close when the process
            // exits.
            drop(tokio::time::timeout(CLOSE_TIMEOUT, pool.close()).await);
        }
    }

    /// Returns the schema version of the archive, without migrating it; `None` if it has no tables yet.
    pub async fn schema(&self) -> Result<Option<i64>, Error> {
        let schema = tokio::time::timeout(READ_TIMEOUT, Box::pin(self.shared.target.schema())).await;
        schema.unwrap_or(Err(Error::Slow))
    }

    /// Returns this archive's identity. Sets it to `proposed` if the archive has none yet.
    pub async fn identity(&self, proposed: &str) -> Result<String, Error> {
        self.ask("archive: identity", READ_TIMEOUT, async |lease| {
            on!(lease, |connection, Sql| {
                let mut insert = QueryBuilder::<Sql>::new("INSERT INTO settings (name, value) VALUES (");
                insert.push_bind("identity").push(", ").push_bind(proposed).push(")");
                insert.push(Sql::KEEP_SETTING);
                insert.build().execute(&mut *connection).await?;
                let mut read = QueryBuilder::<Sql>::new("SELECT value FROM settings WHERE name = ");
                Ok(read.push_bind("identity").build_query_scalar().fetch_one(&mut *connection).await?)
            })
        })
        .await
    }

    /// Runs `work` with a connection, after opening the archive if necessary. Every query goes through this
    /// function. An operation waits for an unavailable archive only once: its later queries fail at once.
    async fn ask<T>(
        &self,
        step: &'static str,
        timeout: Duration,
        work: impl AsyncFnOnce(&mut Lease) -> Result<T, Error>,
    ) -> Result<T, Error> {
        if budget::lacks_archive() {
            return Err(Error::Slow);
        }
        self.pass(Moment::Before, step).await;
        self.shared.asked.fetch_add(1, Ordering::Relaxed);
        // Boxed because database drivers' futures are large and few queries reach the archive.
        let asked = Box::pin(async {
            let mut lease = self.shared.opening().await?.lease().await?;
            let answer = work(&mut lease).await?;
            lease.give_back();
            Ok(answer)
        });
        let span = tracing::trace_span!(
            "sql",
            "otel.name" = step,
            "otel.kind" = "client",
            "db.system.name" = self.shared.target.system()
        );
        let asked = tokio::time::timeout(timeout, asked).instrument(span);
        let answered = asked.await.unwrap_or(Err(Error::Slow));
        if answered.as_ref().is_err_and(Error::is_passing) {
            budget::note_lack_of_archive();
        }
        self.pass(Moment::After, step).await;
        answered
    }

    async fn pass(&self, moment: Moment, step: &'static str) {
        if let Some(gate) = &self.gate {
            gate.pass(moment, step).await;
        }
    }
}

impl Shared {
    /// Returns the latest attempt to open the archive, or starts a new attempt if the latest has failed. An
    /// attempt continues even if all its waiters are dropped, because an interruption would leave
    /// half-created tables behind.
    fn opening(&self) -> Opening {
        let mut opening = self.opening.lock();
        let has_failed = |opening: &Opening| matches!(opening.peek(), Some(Err(_)));
        match &*opening {
            Some(under_way) if !has_failed(under_way) => under_way.clone(),
            _ => {
                let target = Arc::clone(&self.target);
                // Without a timeout: the migration of a large archive takes long, and would begin again.
                let attempt = tokio::spawn(async move { target.open().await });
                let attempt = async { attempt.await.unwrap_or(Err(Error::Slow)) }.boxed().shared();
                opening.insert(attempt).clone()
            }
        }
    }
}

/// Returns the schema version of this version of Fanfold.
#[must_use]
pub fn latest_schema() -> i64 {
    pool::LATEST
}

/// Converts a number to the integer type of the databases. Ids are below 2^53.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}

/// Divides the rows of a union among the answers that have them. Each row begins with the number of its answer.
fn divided<Row>(
    rows: impl Iterator<Item = Result<(i64, Row), Error>>,
    answers: usize,
) -> Result<Vec<Vec<Row>>, Error> {
    let mut found: Vec<Vec<Row>> = (0..answers).map(|_| Vec::new()).collect();
    for row in rows {
        let (answer, row) = row?;
        let answer = usize::try_from(answer).ok().and_then(|answer| found.get_mut(answer));
        answer.ok_or_else(|| Error::Corrupt("a range that was not requested".into()))?.push(row);
    }
    Ok(found)
}
