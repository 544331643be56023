//! Recovers the counters of ids after a Redis restart or failover. A counter may have fallen back to an older value,
//! but must not reissue any id that the archive contains, of a post or of an author, or that a client's cursor has passed.
//!
//! Not here: the same recovery when the archive is first opened (`app::archive`), and detection of restarts
//! (`store::peer`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::archive::post::GreatestIds;
use crate::store::moving;

/// Timeout of a publisher's archive query. After a timeout, the repairer retries the query.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The changes of the Redis server (restarts and failovers) that this process has handled.
#[derive(Default)]
pub(super) struct Recovery {
    /// Number of the last change for which recovery was attempted.
    tried: AtomicU64,
    /// Number of the last change for which recovery was completed.
    done: AtomicU64,
    /// Lock held while handling a change.
    turn: Mutex<()>,
}

impl App {
    /// Raises the counters before the caller issues ids of posts, if Redis has restarted since the last recovery.
    /// Makes no round trip otherwise.
    pub(super) async fn recover(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        let recovery = &self.0.process.recovery;
        if recovery.tried.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        let _turn = recovery.turn.lock().await;
        if recovery.tried.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        self.raise_counters(changes).await?;
        recovery.tried.store(changes, Ordering::Release);
        Ok(())
    }

    /// Returns true if Redis has not changed since the last recovery, so that ids issued just before this
    /// call may be used.
    pub(super) fn has_recovered(&self) -> bool {
        self.0.process.recovery.tried.load(Ordering::Acquire) == self.store().changes()
    }

    /// Raises the counters for the repairer, also if the archive did not respond during a publisher's
    /// recovery.
    pub(super) async fn finish_recovery(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        if self.0.process.recovery.done.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        self.raise_counters(changes).await
    }

    async fn raise_counters(&self, changes: u64) -> Result<(), Error> {
        // An archive that is not yet open is checked when it is opened.
        let archived = if self.0.bound.initialized() {
            let greatest = tokio::time::timeout(TIMEOUT, self.0.archive.greatest_ids()).await;
            greatest.ok().and_then(Result::ok)
        } else {
            Some(GreatestIds::default())
        };
        let seen = self.0.process.last_issued.load(Ordering::Relaxed);
        let GreatestIds { post, author } = archived.unwrap_or_default();
        moving::skip_posts(self.keys(), post.max(seen)).send("recover: skip", self.store()).await?;
        if author > 0 {
            moving::skip_users(self.keys(), author).send("recover: skip users", self.store()).await?;
        }
        if archived.is_some() {
            self.0.process.recovery.done.store(changes, Ordering::Release);
        }
        Ok(())
    }
}
