//! The archive: how posts become cold, and how what is cold is read together with what is hot.
//!
//! A post that its author's list has no more room for waits until a *mover* takes it. The mover goes through
//! these steps, for up to a thousand posts together:
//! 1. it takes them onto a list of its own;
//! 2. it reads their records; the deletion of what turns out to be a tombstone is finished first, because
//!    whoever began it may have been cut off;
//! 3. it writes the posts and the tombstones to the archive, in one transaction;
//! 4. it reads them back and compares; what the archive knows to be deleted is erased, should Redis have
//!    lost its last moments and forgotten it, and gone through again;
//! 5. it takes the posts out of their authors' lists, in one step for each author, in which also what is
//!    known of the cold posts changes: the greatest of them, and their number;
//! 6. it drops the records, but only those that are still as they were read; tombstones will expire;
//! 7. what was deleted is known not to be in the archive any more;
//! 8. it takes the posts off its list; those whose record has changed stay, and are gone through again.
//!
//! Each step may be done twice, and may be done by two movers at the same time. What a mover has left that is
//! not heard of any more, another one adopts.
//!
//! So a post is always in the author's list or in the archive, for some moments in both. Who reads asks
//! **Redis first, then the archive**: what leaves Redis in between is found in the archive. Whether a post
//! was deleted, its record tells before the archive is asked, and for a list of posts the set of those that
//! are gone.
//!
//! # Why
//! Who takes a post out of its list before the archive has it shows nobody the post for a while. Who drops a
//! record that has changed brings a deleted post back. Tombstones stay in the archive, so that a mover that
//! wakes up late does not write the post after its deletion.
//!
//! Not here: how posts come to wait (`app::post`).

mod limit;
mod mover;
mod page;
mod read;
mod transfer;

use std::sync::atomic::Ordering;
use std::time::Duration;

use futures::FutureExt as _;

pub use self::mover::{Mover, SILENT_AFTER};
pub use self::page::Listed;
pub(super) use self::page::{Joint, cold_range};
pub(super) use self::read::{Found, Wanted};
use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::archive::{self, Archive};
use crate::store::batch::Batch;
use crate::store::moving;

/// How long anybody waits for the archive to be opened.
const PATIENCE: Duration = Duration::from_secs(6);

/// How the way to the archive stands.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Transit {
    /// Posts that wait.
    pub pending: u64,
    /// Posts that a mover has taken.
    pub moving: u64,
    /// Since when the one waits that has waited longest; zero if there is none.
    pub oldest: Duration,
    /// Posts that have been archived, ever.
    pub moved: u64,
    /// Posts that the archive does not take.
    pub unmovable: u64,
}

impl App {
    /// The archive, once it is known to have the posts of this store.
    pub(super) async fn archive(&self) -> Result<&Archive, Error> {
        self.bound_identity().await?;
        Ok(&self.0.archive)
    }

    /// The identity of the archive, once it is known to have the posts of this store.
    async fn bound_identity(&self) -> Result<&str, Error> {
        // Boxed, since what a database driver awaits is too deep for the compiler to look into from afar.
        let bound = self.0.bound.get_or_try_init(|| self.bind_archive().boxed());
        // Who waits for another's attempt waits no longer than for an answer.
        let bound = tokio::time::timeout(PATIENCE, bound).await;
        Ok(bound.unwrap_or(Err(archive::error::Error::Slow.into()))?)
    }

    /// Opens the archive, if it can be opened now.
    pub async fn open_archive(&self) -> Result<(), Error> {
        self.archive().await.map(drop)
    }

    /// Whether the archive answers. One query.
    pub async fn is_archive_ready(&self) -> bool {
        let answers = async { self.archive().await?.greatest_post().await.map_err(Error::from) };
        answers.await.is_ok()
    }

    /// Whether the mover of this process fails, if it has one. No query.
    #[must_use]
    pub fn is_archiving_stuck(&self) -> bool {
        self.0.is_stuck.load(Ordering::Relaxed)
    }

    /// Closes the archive.
    pub async fn close_archive(&self) {
        self.0.archive.close().await;
    }

    /// Where the archive is, for people.
    #[must_use]
    pub fn archive_place(&self) -> String {
        self.0.archive.place()
    }

    /// How many posts the archive has.
    pub async fn archived_count(&self) -> Result<u64, Error> {
        Ok(self.archive().await?.post_count().await?)
    }

    /// How often this process has asked the archive something so far.
    #[must_use]
    pub fn archive_asked(&self) -> u64 {
        self.0.archive.asked()
    }

    /// Store and archive belong together: either both are new, or each knows the other. Two Redises that
    /// archived into one database would mix up their posts, and two archives of one Redis would each miss
    /// what the other has.
    ///
    /// A Redis that has lost its last moments may have forgotten ids that the archive knows: they are not
    /// issued again.
    async fn bind_archive(&self) -> Result<String, Error> {
        let read = || moving::archive(self.keys()).send("archive: bound", self.store());
        let identity = self.archive_identity().await?;
        let was_new = read().await?.is_none();
        let greatest = self.0.archive.greatest_post().await?;
        if was_new && greatest == 0 {
            moving::bind_archive(self.keys(), &identity).send("archive: bind", self.store()).await?;
        }
        // Somebody else may have been first.
        if read().await?.as_ref() != Some(&identity) {
            return Err(self.foreign_archive());
        }
        moving::skip_posts(self.keys(), greatest).send("archive: skip", self.store()).await?;
        Ok(identity)
    }

    async fn archive_identity(&self) -> Result<String, Error> {
        Ok(self.0.archive.identity(&self.request_id()).await?)
    }

    fn foreign_archive(&self) -> Error {
        Broken::ForeignArchive(self.archive_place()).into()
    }

    /// Goes on with this archive whatever it was before. What the former one has cannot be read any more.
    pub async fn adopt_archive(&self) -> Result<(), Error> {
        let identity = self.archive_identity().await?;
        moving::rebind_archive(self.keys(), &identity).send("archive: adopt", self.store()).await?;
        Ok(())
    }

    /// How the way to the archive stands. Two round trips.
    pub async fn transit(&self) -> Result<Transit, Error> {
        let keys = self.keys();
        let mut batch = Batch::new("archive: transit");
        let (pending, since) = (batch.push(moving::pending(keys)), batch.push(moving::pending_since(keys)));
        let (moved, unmovable) = (batch.push(moving::moved(keys)), batch.push(moving::unmovable(keys)));
        let movers = batch.push(moving::movers(keys));
        let mut replies = batch.send(self.store()).await?;
        let mut transit = Transit {
            pending: replies.take(pending)?,
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

    /// Has those tried again that the archive did not take. Answers how many there were.
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
