//! Runs movers, background workers that transfer posts to the archive in batches.
//!
//! Not here: the steps of one batch (`transfer`).

use std::sync::atomic::Ordering;
use std::time::Duration;

use crate::app::App;
use crate::app::archive::Transit;
use crate::app::error::{Error, with_causes};
use crate::model::clock::Timestamp;
use crate::store::batch::Batch;
use crate::store::moving::{self, Outcome, Taken};

/// Timeout after which other movers adopt the posts of a silent mover. A turn takes far less time.
pub const SILENT_AFTER: Duration = Duration::from_mins(1);
/// Time for which a post is postponed that changed while it was moved. A post that changes all the time is written to
/// the archive no more often.
const POSTPONED: Duration = Duration::from_mins(1);
/// Time for which a post is postponed that has too many likes. It has fewer one day only if many are taken back.
const LARGE_POSTPONED: Duration = Duration::from_hours(24);
/// Time within which a postponed post is due that a drain waits for. It has not too many likes: other servers' clocks
/// differ by less.
const DRAINED: Duration = Duration::from_hours(1);
/// Polling interval of an idle mover.
const IDLE: Duration = Duration::from_secs(1);
/// Initial and maximum retry delay while the store or the archive is unavailable.
const PAUSE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(5));

/// A worker that transfers posts to the archive. Any number of movers may run concurrently.
pub struct Mover {
    app: App,
    name: String,
}

impl App {
    /// Creates a mover with a random name.
    #[must_use]
    pub fn mover(&self) -> Mover {
        Mover { name: format!("{:x}", self.rng().nonce()), app: self.clone() }
    }
}

impl Mover {
    /// Runs until `stopping` completes, then returns unfinished posts to the queue. Uses its own archive
    /// connection, so that it does not compete with requests for connections.
    pub async fn work(self, stopping: impl Future<Output = ()>) {
        let apart = self.app.over(self.app.store().clone(), self.app.0.archive.apart());
        let mover = Self { app: apart, name: self.name.clone() };
        tokio::select! {
            () = mover.keep_working() => {}
            () = stopping => {}
        }
        mover.app.close_archive().await;
        let give_back = moving::give_back(self.app.keys(), &self.name);
        if let Err(error) = give_back.send("move: return", self.app.store()).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "cannot return unfinished posts to the archiving queue; another mover will adopt them"
            );
        }
    }

    async fn keep_working(&self) {
        let mut pause = PAUSE.0;
        let mut is_swept = false;
        // Log each outage once. Metrics show how long it lasts.
        let mut reported = None;
        loop {
            match self.turn_or_sweep(&mut is_swept).await {
                Ok(had_work) => {
                    if reported.take().is_some() {
                        tracing::info!("archiving resumed");
                    }
                    pause = PAUSE.0;
                    self.app.0.is_stuck.store(false, Ordering::Relaxed);
                    if !had_work {
                        tokio::time::sleep(IDLE).await;
                    }
                }
                Err(error) => {
                    self.app.0.is_stuck.store(true, Ordering::Relaxed);
                    let causes = with_causes(&error);
                    if reported.as_ref() != Some(&causes) {
                        tracing::warn!(causes, "posts cannot be archived; they stay in Redis");
                        reported = Some(causes);
                    }
                    tokio::time::sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                }
            }
        }
    }

    async fn turn_or_sweep(&self, is_swept: &mut bool) -> Result<bool, Error> {
        if self.turn(SILENT_AFTER, self.app.now()).await? {
            return Ok(true);
        }
        if !*is_swept {
            self.app.queue_beyond_limit().await?;
            *is_swept = true;
        }
        Ok(false)
    }

    /// Runs until no posts are left to archive, not even postponed ones, except those with too many likes. Other movers
    /// may run concurrently. Adopts the posts of movers that have been silent for `silent_after`.
    pub async fn drain(&self, silent_after: Duration) -> Result<(), Error> {
        let drained = self.drain_all(silent_after).await;
        let give_back = moving::give_back(self.app.keys(), &self.name);
        give_back.send("move: return", self.app.store()).await?;
        drained
    }

    async fn drain_all(&self, silent_after: Duration) -> Result<(), Error> {
        loop {
            let due = || self.app.now().plus(DRAINED);
            while self.turn(silent_after, due()).await? {}
            let queued = self.app.queue_beyond_limit().await?;
            let large = moving::postponed_beyond(self.app.keys(), due());
            let large = large.send("move: large", self.app.store()).await?;
            let Transit { pending, moving, .. } = self.app.transit().await?;
            if queued == 0 && pending + moving <= large {
                return Ok(());
            }
            if pending <= large {
                tokio::time::sleep(IDLE).await;
            }
        }
    }

    /// Runs all steps once, also for the posts that were postponed until `due`. Returns true if there was any work.
    pub async fn turn(&self, silent_after: Duration, due: Timestamp) -> Result<bool, Error> {
        let silent_after = u64::try_from(silent_after.as_millis()).unwrap_or(u64::MAX);
        let Taken { entries, unknown, silent } = self.take(silent_after, due).await?;
        let mut adopted = 0;
        for mover in silent {
            let adopt = moving::adopt(self.app.keys(), &mover, &self.name);
            adopted += adopt.send("move: adopt", self.app.store()).await?;
        }
        if entries.is_empty() && unknown.is_empty() {
            return Ok(adopted > 0);
        }
        if !unknown.is_empty() {
            tracing::error!(?unknown, "unknown entries in the archiving queue; setting them aside");
        }
        let mut outcome = self.app.move_all(&entries).await?;
        outcome.unmovable.extend(unknown);
        let large = Outcome { changed: std::mem::take(&mut outcome.large), ..Outcome::default() };
        let finish = |(outcome, postponed): (&Outcome, Duration)| {
            moving::finish(self.app.keys(), &self.name, outcome, self.app.now().plus(postponed))
        };
        let large = (!large.changed.is_empty()).then_some((&large, LARGE_POSTPONED));
        let all = std::iter::once((&outcome, POSTPONED)).chain(large);
        self.app.send_all("move: finish", all.map(finish)).await?;
        Ok(true)
    }

    /// Runs step 1: takes a batch. Fails if the store has since been bound to another archive.
    async fn take(&self, silent_after: u64, due: Timestamp) -> Result<Taken, Error> {
        let identity = self.app.bound_identity().await?;
        let mut batch = Batch::new("move: take");
        let taken = batch.push(moving::take(self.app.keys(), &self.name, silent_after, due));
        let bound = batch.push(moving::archive(self.app.keys()));
        let mut replies = batch.send(self.app.store()).await?;
        let taken = replies.take(taken)?;
        match replies.take(bound)? {
            Some(bound) if bound == identity => Ok(taken),
            _ => Err(self.app.foreign_archive()),
        }
    }
}
