//! Recovery after a Redis restart or failover. The post counter may have fallen back; ids that the archive
//! has, or that readers have passed, must not be issued again.
//!
//! Not here: the same when the archive is first opened (`app::archive`), and detection of restarts
//! (`store::peer`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::store::moving;

/// Timeout of a publisher's archive query. The repairer retries.
const TIMEOUT: Duration = Duration::from_secs(1);

/// The server changes that have been handled.
#[derive(Default)]
pub(super) struct Recovery {
    /// The last change that was attempted.
    tried: AtomicU64,
    /// The last change that was handled.
    done: AtomicU64,
    /// Held while a change is being handled.
    turn: Mutex<()>,
}

impl App {
    /// Raises the post counter before ids are issued, if Redis was restarted since the last time. No round
    /// trip otherwise.
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
        self.raise_counter(changes).await?;
        recovery.tried.store(changes, Ordering::Release);
        Ok(())
    }

    /// Returns whether ids that have just been issued may be used without further recovery.
    pub(super) fn has_recovered(&self) -> bool {
        self.0.process.recovery.tried.load(Ordering::Acquire) == self.store().changes()
    }

    /// Does the same for the repairer, also if the archive did not respond to a publisher.
    pub(super) async fn finish_recovery(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        if self.0.process.recovery.done.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        self.raise_counter(changes).await
    }

    async fn raise_counter(&self, changes: u64) -> Result<(), Error> {
        // An archive that is not open yet is checked when it is opened.
        let archived = if self.0.bound.initialized() {
            let greatest = tokio::time::timeout(TIMEOUT, self.0.archive.greatest_post()).await;
            greatest.ok().and_then(Result::ok)
        } else {
            Some(0)
        };
        let seen = self.0.process.last_issued.load(Ordering::Relaxed);
        let upto = archived.unwrap_or(0).max(seen);
        moving::skip_posts(self.keys(), upto).send("recover: skip", self.store()).await?;
        if archived.is_some() {
            self.0.process.recovery.done.store(changes, Ordering::Release);
        }
        Ok(())
    }
}
