//! Movers: who takes posts to the archive, one batch after the other.
//!
//! Not here: the steps that a batch goes through (`transfer`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::app::App;
use crate::app::archive::Transit;
use crate::app::error::Error;
use crate::store::batch::Batch;
use crate::store::moving::{self, Taken};

/// From when on a mover that is not heard of counts as gone. A turn takes far less.
pub const SILENT_AFTER: Duration = Duration::from_mins(1);
/// How long a mover with nothing to do waits before it looks again.
const IDLE: Duration = Duration::from_secs(1);
/// How long it waits when the store or the archive does not answer: at first, and at most.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// Whoever takes posts to the archive. Any number may be at it.
pub struct Mover {
    app: App,
    name: String,
}

impl App {
    /// A mover.
    #[must_use]
    pub fn mover(&self) -> Mover {
        Mover { name: format!("{:x}", self.chance().nonce()), app: self.clone() }
    }
}

impl Mover {
    /// Works until `stopping` is done, then gives back what is not finished. Over a connection to the archive of its
    /// own, so that it does not wait for those of requests.
    pub async fn work(self, stopping: impl Future<Output = ()>) {
        let apart = self.app.over(self.app.store().clone(), self.app.0.archive.apart());
        let mover = Self { app: apart, name: self.name.clone() };
        tokio::select! {
            () = mover.keep_working() => {}
            () = stopping => {}
        }
        mover.app.close_archive().await;
        let give_back = moving::give_back(self.app.keys(), &self.name);
        if let Err(error) = give_back.send("move: give back", self.app.store()).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "posts on their way to the archive could not be given back; another mover adopts them"
            );
        }
    }

    async fn keep_working(&self) {
        let mut pause = PAUSE.0;
        let mut is_swept = false;
        // What was told of an outage is not told again; the figures tell the rest.
        let mut told = None;
        loop {
            match self.turn_or_sweep(&mut is_swept).await {
                Ok(had_work) => {
                    if told.take().is_some() {
                        tracing::info!("posts are archived again");
                    }
                    pause = PAUSE.0;
                    self.app.0.is_stuck.store(false, Ordering::Relaxed);
                    if !had_work {
                        tokio::time::sleep(IDLE).await;
                    }
                }
                Err(error) => {
                    self.app.0.is_stuck.store(true, Ordering::Relaxed);
                    let causes = error.causes();
                    if told.as_ref() != Some(&causes) {
                        tracing::warn!(causes, "posts cannot be archived now; they stay where they are");
                        told = Some(causes);
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    async fn turn_or_sweep(&self, is_swept: &mut bool) -> Result<bool, Error> {
        if self.turn(SILENT_AFTER).await? {
            return Ok(true);
        }
        if !*is_swept {
            self.app.queue_beyond_limit().await?;
            *is_swept = true;
        }
        Ok(false)
    }

    /// Works until nothing is left, also with other movers; adopts what those have left that were not heard of
    /// for so long.
    pub async fn drain(&self, silent_after: Duration) -> Result<(), Error> {
        let drained = self.drain_all(silent_after).await;
        let give_back = moving::give_back(self.app.keys(), &self.name);
        give_back.send("move: give back", self.app.store()).await?;
        drained
    }

    async fn drain_all(&self, silent_after: Duration) -> Result<(), Error> {
        loop {
            while self.turn(silent_after).await? {}
            let queued = self.app.queue_beyond_limit().await?;
            let Transit { pending, moving, .. } = self.app.transit().await?;
            if queued == 0 && pending + moving == 0 {
                return Ok(());
            }
            if pending == 0 {
                tokio::time::sleep(IDLE).await;
            }
        }
    }

    /// Goes through all steps once. Answers whether there was anything to do.
    pub async fn turn(&self, silent_after: Duration) -> Result<bool, Error> {
        let silent_after = u64::try_from(silent_after.as_millis()).unwrap_or(u64::MAX);
        let Taken { entries, unknown, silent } = self.take(silent_after).await?;
        let mut adopted = 0;
        for mover in silent {
            let adopt = moving::adopt(self.app.keys(), &mover, &self.name);
            adopted += adopt.send("move: adopt", self.app.store()).await?;
        }
        if entries.is_empty() && unknown.is_empty() {
            return Ok(adopted > 0);
        }
        if !unknown.is_empty() {
            tracing::error!(
                ?unknown,
                "what waits to be archived is not known to this version; it is put aside"
            );
        }
        let mut outcome = self.app.move_all(&entries).await?;
        outcome.unmovable.extend(unknown);
        moving::finish(self.app.keys(), &self.name, &outcome).send("move: finish", self.app.store()).await?;
        Ok(true)
    }

    /// Step 1, unless the posts of this store go to another archive by now.
    async fn take(&self, silent_after: u64) -> Result<Taken, Error> {
        let identity = self.app.bound_identity().await?;
        let mut batch = Batch::new("move: take");
        let taken = batch.push(moving::take(self.app.keys(), &self.name, silent_after));
        let bound = batch.push(moving::archive(self.app.keys()));
        let mut replies = batch.send(self.app.store()).await?;
        let taken = replies.take(taken)?;
        match replies.take(bound)? {
            Some(bound) if bound == identity => Ok(taken),
            _ => Err(self.app.foreign_archive()),
        }
    }
}
