//! The server at the other end of the connections: which one it is, and whether they should be replaced.
//!
//! # Why
//! An address may lead to another server after a failover, while connections stay with the former one. That one says
//! so only in its replies (it takes no writes any more), and a reply breaks no connection. A server that was restarted,
//! or took over, may also have lost its last moments; a new run id tells.

use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use redis::aio::MultiplexedConnection;
use redis::{InfoDict, Value};
use tokio::time::Instant;

/// How long to wait between two replacements of all connections: at first, and at most. A replica that an operator
/// meant to be used takes no writes for good.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// What is known of the server, shared by all pools of a store.
#[derive(Default)]
pub(super) struct Peer {
    /// Connections of an earlier generation are replaced.
    generation: AtomicU64,
    retirement: Mutex<Option<Retirement>>,
    run_id: Mutex<String>,
    /// How often another run id was met.
    changes: AtomicU64,
}

/// The last time when all connections were replaced.
struct Retirement {
    at: Instant,
    pause: Duration,
}

impl Peer {
    /// The generation of connections that are made now.
    pub(super) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// How often the server was found to be another one, or the same one restarted.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Has all connections replaced, if these replies came over one of this generation and from a server that takes no
    /// writes, unless that was done a moment ago.
    pub(super) fn judge(&self, replies: &[Value], generation: u64) {
        if !replies.iter().any(is_of_replica) {
            return;
        }
        let mut retirement = self.retirement.lock().unwrap_or_else(PoisonError::into_inner);
        if self.generation() != generation {
            return;
        }
        let now = Instant::now();
        let pause = match &*retirement {
            Some(Retirement { at, pause }) if now < *at + *pause => return,
            Some(Retirement { at, pause }) if now < *at + 2 * PAUSE.1 => (*pause * 2).min(PAUSE.1),
            _ => {
                tracing::warn!(
                    "Redis takes no writes; connecting anew, should its address lead elsewhere by now"
                );
                PAUSE.0
            }
        };
        *retirement = Some(Retirement { at: now, pause });
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Notes which server a new connection leads to. Where that is not told, nothing is noted.
    pub(super) async fn identify(&self, connection: &mut MultiplexedConnection) {
        let asked = redis::cmd("INFO").arg("server").query_async::<InfoDict>(connection).await;
        let Some(run_id) = asked.ok().and_then(|info| info.get::<String>("run_id")) else { return };
        let mut known = self.run_id.lock().unwrap_or_else(PoisonError::into_inner);
        if *known == run_id {
            return;
        }
        if !known.is_empty() {
            tracing::info!(%run_id, "Redis was restarted, or is another server now");
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        *known = run_id;
    }
}

/// Whether a reply says that the server is no master, or not yet.
fn is_of_replica(reply: &Value) -> bool {
    matches!(reply, Value::ServerError(error) if matches!(error.code(), "READONLY" | "MASTERDOWN" | "LOADING"))
}
