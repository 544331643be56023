//! What is cold: the only storey that speaks SQL.
//!
//! The archive is a database of SQLite, MySQL (or MariaDB) or PostgreSQL, with the same tables in each.
//! It is opened when it is first needed: a server works without it for as long as nobody asks for what
//! is cold. Not here: when a post becomes cold, and what Redis has of it (`app::archive`).

mod dialect;
pub mod error;
mod pool;
pub mod post;
mod visit;

use std::path::Path;
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex, PoisonError};
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;
use sqlx::QueryBuilder;
use tracing::Instrument as _;

use crate::archive::dialect::Dialect as _;
use crate::archive::error::Error;
use crate::archive::pool::{Lease, Pool, Target, on};
use crate::config::ArchiveConfig;
use crate::gate::{Gate, Moment};

/// What is never logged, whatever else is: what is wrong with a URL may be a password, and what databases have
/// to remark is of no interest.
pub const LOG_DIRECTIVES: [&str; 3] =
    ["sqlx_postgres::options=off", "sqlx_mysql::options=off", "sqlx::postgres::notice=off"];

/// How long opening it may take.
const OPEN: Duration = Duration::from_secs(20);
/// How long closing it may take.
const CLOSE: Duration = Duration::from_secs(2);
/// How long a question may take.
const ANSWER: Duration = Duration::from_secs(5);
/// How long a batch of posts may take to be written.
const WRITE: Duration = Duration::from_secs(30);

/// The archive of one deployment. Cheap to clone.
#[derive(Clone)]
pub struct Archive {
    shared: Arc<Shared>,
    gate: Option<Arc<dyn Gate>>,
}

struct Shared {
    target: Arc<Target>,
    /// The attempt to open it that is under way, or that has succeeded.
    opening: Mutex<Option<Opening>>,
    asked: Arc<AtomicU64>,
}

/// An attempt to open an archive, for which any number may wait.
type Opening = futures::future::Shared<BoxFuture<'static, Result<Pool, Error>>>;

impl Archive {
    /// The archive that is configured, or one in a file in the data directory. It is not opened yet; but
    /// what cannot be a URL is refused.
    pub fn new(config: &ArchiveConfig, data_dir: &Path) -> Result<Self, Error> {
        let target = Arc::new(Target::new(config, data_dir)?);
        let shared = Shared { target, opening: Mutex::new(None), asked: Arc::default() };
        Ok(Self { shared: Arc::new(shared), gate: None })
    }

    /// The same archive, seen through a gate.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        Self { gate: Some(gate), ..self.clone() }
    }

    /// The same archive over a connection of its own, for which no request has to be waited.
    #[must_use]
    pub fn apart(&self) -> Self {
        let target = Arc::new(self.shared.target.with_one_connection());
        let asked = Arc::clone(&self.shared.asked);
        let shared = Shared { target, opening: Mutex::new(None), asked };
        Self { shared: Arc::new(shared), gate: self.gate.clone() }
    }

    /// Where it is, for people; without user and password.
    #[must_use]
    pub fn place(&self) -> String {
        self.shared.target.to_string()
    }

    /// How often this process has asked it something so far.
    #[must_use]
    pub fn asked(&self) -> u64 {
        self.shared.asked.load(Ordering::Relaxed)
    }

    /// How many connections there are; none before it is opened.
    #[must_use]
    pub fn connections(&self) -> u32 {
        let opening = self.shared.opening.lock().unwrap_or_else(PoisonError::into_inner);
        match opening.as_ref().and_then(|opening| opening.peek()) {
            Some(Ok(pool)) => pool.connections(),
            _ => 0,
        }
    }

    /// Closes it, if it was opened, when all that is under way has been answered.
    pub async fn close(&self) {
        let opening = self.shared.opening.lock().unwrap_or_else(PoisonError::into_inner).clone();
        if let Some(Ok(pool)) = opening.as_ref().and_then(|opening| opening.peek()) {
            // Should somebody still ask, or a server be away, they are closed with the process.
            drop(tokio::time::timeout(CLOSE, pool.close()).await);
        }
    }

    /// The name of this archive among all there are: this one, if it has none yet.
    pub async fn identity(&self, proposed: &str) -> Result<String, Error> {
        self.ask("archive: identity", ANSWER, async |lease| {
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

    /// Does something with the database, which is opened if it is not yet. Everything that is sent goes
    /// through here.
    async fn ask<T>(
        &self,
        step: &'static str,
        patience: Duration,
        work: impl AsyncFnOnce(&mut Lease) -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.pass(Moment::Before, step).await;
        self.shared.asked.fetch_add(1, Ordering::Relaxed);
        // In a box, because what a database driver awaits is deep, and few questions come this far.
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
        let asked = tokio::time::timeout(patience, asked).instrument(span);
        let answered = asked.await.unwrap_or(Err(Error::Slow));
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
    /// The attempt to open the archive that is under way, or has succeeded; else a new one. It goes on also if
    /// nobody waits for it any more: who is interrupted while tables are made leaves a half-made one behind.
    fn opening(&self) -> Opening {
        let mut opening = self.opening.lock().unwrap_or_else(PoisonError::into_inner);
        let has_failed = |opening: &Opening| matches!(opening.peek(), Some(Err(_)));
        match &*opening {
            Some(under_way) if !has_failed(under_way) => under_way.clone(),
            _ => {
                let target = Arc::clone(&self.target);
                let attempt = tokio::spawn(async move {
                    tokio::time::timeout(OPEN, target.open()).await.unwrap_or(Err(Error::Slow))
                });
                let attempt = async { attempt.await.unwrap_or(Err(Error::Slow)) }.boxed().shared();
                opening.insert(attempt).clone()
            }
        }
    }
}

/// A number as the databases have it. Ids are below 2^53.
fn number(number: u64) -> i64 {
    i64::try_from(number).unwrap_or(i64::MAX)
}
