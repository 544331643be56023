//! Raises the counters of ids after a Redis restart or failover. A counter may have fallen back to an older value, but
//! must not reissue any id that the archive contains, of a post or of an author, or that a client's cursor has passed.
//!
//! Not here: the same when the archive is first opened (`app::archive`), and detection of restarts
//! (`driver::peer`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::archive::post::GreatestIds;
use crate::store::moving;

/// Timeout of a publisher's archive query. After a timeout, the repairer retries the query.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The changes of the Redis server (restarts and failovers) after which this process has raised the counters.
#[derive(Default)]
pub(super) struct Raised {
    /// Number of the last change after which it was attempted.
    tried: AtomicU64,
    /// Number of the last change after which it was completed.
    done: AtomicU64,
    /// Lock held while handling a change.
    turn: Mutex<()>,
}

impl App {
    /// Raises the counters before the caller issues ids of posts, if Redis has restarted since this was done last.
    /// Makes no round trip otherwise.
    pub(super) async fn check_counters(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        let raised = &self.0.process.raised;
        if raised.tried.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        let _turn = raised.turn.lock().await;
        if raised.tried.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        self.raise_counters(changes).await?;
        raised.tried.store(changes, Ordering::Release);
        Ok(())
    }

    /// Returns true if Redis has not changed since the counters were raised, so that ids issued just before this call
    /// may be used.
    pub(super) fn are_counters_raised(&self) -> bool {
        self.0.process.raised.tried.load(Ordering::Acquire) == self.store().changes()
    }

    /// Raises the counters for the repairer, also if the archive did not respond to a publisher.
    pub(super) async fn finish_counters(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        if self.0.process.raised.done.load(Ordering::Acquire) == changes {
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
        moving::skip_posts(self.keys(), post.max(seen)).send("counters: skip", self.store()).await?;
        if author > 0 {
            moving::skip_users(self.keys(), author).send("counters: skip users", self.store()).await?;
        }
        if archived.is_some() {
            self.0.process.raised.done.store(changes, Ordering::Release);
        }
        Ok(())
    }
}
