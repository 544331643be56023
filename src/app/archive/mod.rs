//! Moves posts to the archive, and reads hot and cold posts together.
//!
//! Not here: queueing posts (`app::post`).
//!
#![doc = include_str!("README.md")]

mod limit;
mod mover;
mod page;
mod read;
mod transfer;

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;

pub use self::mover::{Mover, SILENT_AFTER};
pub(super) use self::page::{Joint, cold_range};
pub use self::page::{Listed, StoredPost};
pub(super) use self::read::{Found, Wanted};
use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::archive::{self, Archive};
use crate::store::batch::Batch;
use crate::store::moving;

/// Timeout for opening the archive.
const TIMEOUT: Duration = Duration::from_secs(6);

/// The state of the archiving pipeline.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transit {
    /// Posts queued for archiving, and those that are postponed because they have changed or have too many likes.
    pub pending: u64,
    /// Posts that movers have taken but not yet finished.
    pub moving: u64,
    /// Time since the oldest of these posts was queued, apart from postponed ones; zero if there are none.
    pub oldest: Duration,
    /// Posts archived since the store was created.
    pub moved: u64,
    /// Posts that the archive rejected and movers set aside.
    pub unmovable: u64,
}

impl App {
    /// Returns the archive after verifying that it belongs to this store.
    pub(super) async fn archive(&self) -> Result<&Archive, Error> {
        self.bound_identity().await?;
        Ok(&self.0.archive)
    }

    /// Returns the identity of the archive after verifying that it belongs to this store.
    async fn bound_identity(&self) -> Result<&str, Error> {
        // Boxed, because the compiler cannot analyze the database driver's deeply nested future from here.
        let bound = self.0.bound.get_or_try_init(|| self.bind_archive().boxed());
        // The timeout also covers waiting for another caller's attempt.
        let bound = tokio::time::timeout(TIMEOUT, bound).await;
        Ok(bound.unwrap_or(Err(archive::error::Error::Slow.into()))?)
    }

    /// Opens the archive. Fails if it is unavailable.
    pub async fn open_archive(&self) -> Result<(), Error> {
        self.archive().await.map(drop)
    }

    /// Returns true if the archive responds. Makes one query.
    pub async fn is_archive_ready(&self) -> bool {
        let answers = async { self.archive().await?.greatest_ids().await.map_err(Error::from) };
        answers.await.is_ok()
    }

    /// Returns true if this process runs a mover that is failing. Makes no query.
    #[must_use]
    pub fn is_archiving_stuck(&self) -> bool {
        self.0.is_stuck.load(Ordering::Relaxed)
    }

    /// Closes the archive.
    pub async fn close_archive(&self) {
        self.0.archive.close().await;
    }

    /// Returns the archive's address in readable form.
    #[must_use]
    pub fn archive_address(&self) -> String {
        self.0.archive.place()
    }

    /// Returns the number of posts in the archive.
    pub async fn archived_count(&self) -> Result<u64, Error> {
        Ok(self.archive().await?.post_count().await?)
    }

    /// Returns the number of archive queries this process has sent.
    #[must_use]
    pub fn archive_asked(&self) -> u64 {
        self.0.archive.asked()
    }

    /// Binds the store and the archive to each other if both are new; otherwise verifies that both hold the
    /// same identity. Two Redis instances that shared an archive would mix their posts. Two archives that
    /// shared a Redis instance would each lack posts that the other has.
    ///
    /// If Redis has lost its latest writes, it could issue ids that posts in the archive or their authors already
    /// have, and a new user would have the posts of another. The store therefore skips all ids up to the greatest ids
    /// in the archive.
    async fn bind_archive(&self) -> Result<String, Error> {
        let read = || moving::archive(self.keys()).send("archive: bound", self.store());
        let identity = self.archive_identity().await?;
        let was_new = read().await?.is_none();
        let greatest = self.0.archive.greatest_ids().await?;
        if was_new && greatest.post == 0 {
            moving::bind_archive(self.keys(), &identity).send("archive: bind", self.store()).await?;
        }
        // Another process may have bound the store first.
        if read().await?.as_ref() != Some(&identity) {
            return Err(self.foreign_archive());
        }
        moving::skip_posts(self.keys(), greatest.post).send("archive: skip", self.store()).await?;
        moving::skip_users(self.keys(), greatest.author).send("archive: skip users", self.store()).await?;
        Ok(identity)
    }

    async fn archive_identity(&self) -> Result<String, Error> {
        Ok(self.0.archive.identity(&self.request_id()).await?)
    }

    fn foreign_archive(&self) -> Error {
        Broken::ForeignArchive(self.archive_address()).into()
    }

    /// Binds this store to the current archive, and replaces any previous binding. Posts in the previous
    /// archive become unreadable.
    pub async fn adopt_archive(&self) -> Result<(), Error> {
        let identity = self.archive_identity().await?;
        moving::rebind_archive(self.keys(), &identity).send("archive: adopt", self.store()).await?;
        Ok(())
    }

    /// Returns the state of the archiving pipeline. Makes two round trips.
    pub async fn transit(&self) -> Result<Transit, Error> {
        let keys = self.keys();
        let mut batch = Batch::new("archive: transit");
        let (pending, since) = (batch.push(moving::pending(keys)), batch.push(moving::pending_since(keys)));
        let (moved, unmovable) = (batch.push(moving::moved(keys)), batch.push(moving::unmovable(keys)));
        let (postponed, movers) = (batch.push(moving::postponed(keys)), batch.push(moving::movers(keys)));
        let mut replies = batch.send(self.store()).await?;
        let mut transit = Transit {
            pending: replies.take(pending)? + replies.take(postponed)?,
            moved: replies.take(moved)?,
            unmovable: replies.take(unmovable)?,
            ..Transit::default()
        };
        let mut oldest = replies.take(since)?;
        let movers = replies.take(movers)?;

        let mut batch = Batch::new("archive: movers");
        let read = |mover: &String| {
            (batch.push(moving::moving(keys, mover)), batch.push(moving::moving_since(keys, mover)))
        };
        let tickets: Vec<_> = movers.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        for (count, since) in tickets {
            transit.moving += replies.take(count)?;
            oldest = oldest.into_iter().chain(replies.take(since)?).min();
        }
        transit.oldest = oldest.map_or(Duration::ZERO, |oldest| self.now().since(oldest));
        Ok(transit)
    }

    /// Requeues the posts that the archive rejected. Returns their number.
    pub(super) async fn requeue_unmovable(&self) -> Result<u64, Error> {
        let mut requeued = 0;
        loop {
            let count = moving::requeue(self.keys()).send("archive: requeue", self.store()).await?;
            if count == 0 {
                return Ok(requeued);
            }
            requeued += count;
        }
    }
}
