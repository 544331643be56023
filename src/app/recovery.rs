//! What is done when Redis was restarted, or another server has taken over: its counter of posts may have fallen back,
//! and ids must not be issued again that the archive has, or that readers have passed.
//!
//! Not here: the same when the archive is first opened (`app::archive`), how a restart is noticed (`store::peer`).

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::store::moving;

/// How long a publisher waits for the archive here. The repairer tries again.
const PATIENCE: Duration = Duration::from_secs(1);

/// Which changes of the server have been dealt with.
#[derive(Default)]
pub(super) struct Recovery {
    /// The last of which it was tried.
    tried: AtomicU64,
    /// The last that is dealt with.
    done: AtomicU64,
    /// Held while one is being dealt with.
    turn: Mutex<()>,
}

impl App {
    /// Before ids are issued: raises the counter of posts if Redis was restarted since that was last done. No round
    /// trip if not.
    pub(super) async fn recover(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        let recovery = &self.0.recovery;
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

    /// Whether nothing is to be done before ids may be used that have just been issued.
    pub(super) fn has_recovered(&self) -> bool {
        self.0.recovery.tried.load(Ordering::Acquire) == self.store().changes()
    }

    /// The same for the repairer: also if the archive did not answer a publisher.
    pub(super) async fn finish_recovery(&self) -> Result<(), Error> {
        let changes = self.store().changes();
        if self.0.recovery.done.load(Ordering::Acquire) == changes {
            return Ok(());
        }
        self.raise_counter(changes).await
    }

    async fn raise_counter(&self, changes: u64) -> Result<(), Error> {
        // An archive that was not opened yet is asked when it is.
        let archived = if self.0.bound.initialized() {
            let greatest = tokio::time::timeout(PATIENCE, self.0.archive.greatest_post()).await;
            greatest.ok().and_then(Result::ok)
        } else {
            Some(0)
        };
        let seen = self.0.last_issued.load(Ordering::Relaxed);
        let upto = archived.unwrap_or(0).max(seen);
        moving::skip_posts(self.keys(), upto).send("recover: skip", self.store()).await?;
        if archived.is_some() {
            self.0.recovery.done.store(changes, Ordering::Release);
        }
        Ok(())
    }
}
