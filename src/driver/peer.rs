//! Tracks the identity of the server at the other end of the connections, and decides when to replace the
//! connections.
//!
//! # Why
//! After a failover, an address may lead to another server while existing connections stay with the old
//! server. The old server reveals this only by rejecting writes, and an error reply does not break a
//! connection. A server that was restarted, or took over, may also have lost its latest writes; a changed run
//! id reveals this.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};
use redis::{FromRedisValue as _, InfoDict};
use tokio::time::Instant;

use crate::driver::reply::{Replies, Reply};
use crate::driver::wire::Connection;

/// Initial and maximum pause between two replacements of all connections. The pause matters if an operator
/// has deliberately pointed Fanfold at a replica, which rejects all writes.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// The server's known state, shared by all of a store's pools.
#[derive(Default)]
pub(crate) struct Peer {
    /// Current generation; the pools replace connections of earlier generations.
    generation: AtomicU64,
    retirement: Mutex<Option<Retirement>>,
    run_id: Mutex<String>,
    /// Number of times the run id has changed.
    changes: AtomicU64,
    outage: Outage,
}

/// The failures since a server was last reached.
#[derive(Default)]
pub(super) struct Outage(Mutex<Option<Failures>>);

/// The time of the first failed attempt, and of the last attempt.
#[derive(Clone, Copy)]
struct Failures {
    first: Instant,
    last: Instant,
}

impl Outage {
    /// Records whether a pipeline was answered.
    pub(super) fn note(&self, is_answered: bool) {
        let now = Instant::now();
        let mut failures = self.failures();
        *failures = match &*failures {
            _ if is_answered => None,
            Some(Failures { first, .. }) => Some(Failures { first: *first, last: now }),
            None => Some(Failures { first: now, last: now }),
        };
    }

    /// Returns the time since the first failure; zero if the last pipeline was answered.
    pub(super) fn duration(&self) -> Duration {
        self.failures().as_ref().map_or(Duration::ZERO, |failures| failures.first.elapsed())
    }

    /// Returns true if the caller may try to reach the server. If the outage is longer than `patience`, one caller may
    /// in each `interval`, so that the others do not wait in vain.
    pub(super) fn may_try(&self, patience: Duration, interval: Duration) -> bool {
        let mut failures = self.failures();
        let Some(failures) = &mut *failures else { return true };
        if failures.first.elapsed() > patience && failures.last.elapsed() < interval {
            return false;
        }
        failures.last = Instant::now();
        true
    }

    fn failures(&self) -> MutexGuard<'_, Option<Failures>> {
        self.0.lock()
    }
}

/// The last replacement of all connections.
struct Retirement {
    at: Instant,
    pause: Duration,
}

impl Peer {
    /// Returns the generation of new connections.
    pub(crate) fn generation(&self) -> u64 {
        self.generation.load(Ordering::Relaxed)
    }

    /// Returns how long the server has been unreachable.
    pub(super) fn outage(&self) -> &Outage {
        &self.outage
    }

    /// Returns the number of times the server was restarted or replaced by another server.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Schedules all connections for replacement if these replies show that the server rejects writes. Does
    /// nothing if the connections of `generation` are already being replaced, or too soon after the last
    /// replacement.
    pub(super) fn judge(&self, replies: &Replies, generation: u64) {
        if !replies.errors().any(is_of_replica) {
            return;
        }
        let mut retirement = self.retirement.lock();
        if self.generation() != generation {
            return;
        }
        let now = Instant::now();
        let pause = match &*retirement {
            Some(Retirement { at, pause }) if now < *at + *pause => return,
            Some(Retirement { at, pause }) if now < *at + 2 * PAUSE.1 => (*pause * 2).min(PAUSE.1),
            _ => {
                tracing::warn!(
                    "Redis rejects writes; reconnecting in case its address now leads to another server"
                );
                PAUSE.0
            }
        };
        *retirement = Some(Retirement { at: now, pause });
        self.generation.fetch_add(1, Ordering::Relaxed);
    }

    /// Records the run id of a new connection's server. Does nothing if the server does not report its run
    /// id.
    pub(super) async fn identify(&self, connection: &Connection) {
        let asked = connection.query(redis::pipe().cmd("INFO").arg("server")).await;
        let info = asked.ok().and_then(|mut values| InfoDict::from_redis_value(values.pop()?).ok());
        let Some(run_id) = info.and_then(|info| info.get::<String>("run_id")) else { return };
        let mut known = self.run_id.lock();
        if *known == run_id {
            return;
        }
        if !known.is_empty() {
            tracing::info!(%run_id, "Redis was restarted or replaced by another server");
            self.changes.fetch_add(1, Ordering::Relaxed);
            // Other connections may still lead to the previous server.
            self.generation.fetch_add(1, Ordering::Relaxed);
        }
        *known = run_id;
    }
}

/// Returns true if a reply shows that the server is not a master, or not ready yet.
fn is_of_replica(reply: Reply<'_>) -> bool {
    matches!(reply.error_code(), Some(b"READONLY" | b"MASTERDOWN" | b"LOADING"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[tokio::test(start_paused = true)]
    async fn an_outage_lasts_from_the_first_failure_to_the_next_reply() {
        let outage = Outage::default();
        for (is_answered, expected) in [(true, 0), (false, 0), (false, 1), (false, 2), (true, 0), (false, 0)]
        {
            outage.note(is_answered);
            assert_eq!(outage.duration().as_secs(), expected);
            tokio::time::advance(Duration::from_secs(1)).await;
        }
    }

    #[tokio::test(start_paused = true)]
    async fn after_a_while_one_caller_at_a_time_tries_to_reach_the_server() {
        let outage = Outage::default();
        let may_try = || outage.may_try(Duration::from_secs(2), Duration::from_secs(1));
        outage.note(false);
        assert!(may_try() && may_try());
        tokio::time::advance(Duration::from_secs(3)).await;
        assert!(may_try() && !may_try());
        tokio::time::advance(Duration::from_secs(1)).await;
        assert!(may_try() && !may_try());
        outage.note(true);
        assert!(may_try() && may_try());
    }
}
