//! Reads the data of the timeline strategy in force: its generation, the watermark and the stars.
//!
//! Every timeline read starts with the watermark and the stars, which all users share. Reads therefore share a pair
//! that is at most a few milliseconds old, so that the number of servers, and not the number of reads, determines the
//! load on the slot that holds them.
//!
//! # Why
//! A stale pair is safe: a reader that misses a new star's post does not move its mark past that post, because the post
//! counted as being published when the pair was read. A subscriber, however, is woken once for the post, so its pair
//! must be newer than the signal. A process that makes a star forgets its pair, so that its next reads see the star's
//! post.
//!
//! In a cluster, timelines can therefore be read while the master of the shared slot is unreachable: with the last pair
//! that was read.

use std::collections::HashSet;
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::Duration;

use parking_lot::{Mutex, RwLock};
use tokio::sync::OnceCell;
use tokio::time::Instant;

use crate::app::App;
use crate::app::error::Error;
use crate::budget;
use crate::model::id::UserId;
use crate::model::mark::Mark;
use crate::store::timeline;

/// This process's cache of the strategy in force.
#[derive(Default)]
pub(in crate::app) struct Strategy {
    /// The strategy's generation, a number that changes whenever the strategy changes.
    generation: OnceCell<u64>,
    /// The stars, as of the last read.
    stars: RwLock<Arc<Stars>>,
    /// Authors who are known to be stars.
    known: RwLock<KnownStars>,
    /// The last read of the watermark and the stars, which may not have ended yet.
    last: Mutex<Option<Arc<WatermarkRead>>>,
    /// The watermark and the stars, as of the last read that succeeded.
    latest: RwLock<Option<Watermark>>,
}

/// The age of the watermark that a caller accepts.
#[derive(Clone, Copy, Debug)]
pub(in crate::app) enum Freshness {
    /// A few milliseconds; any age while the watermark cannot be read.
    Recent,
    /// Read no earlier than at this time.
    Since(Instant),
}

/// Authors who are known to be stars, which they remain unless Redis loses its latest writes.
#[derive(Default)]
struct KnownStars {
    authors: HashSet<UserId>,
    /// Number of times that Redis had been restarted or replaced.
    changes: u64,
}

/// A watermark, with the stars read at the same time.
type Watermark = (Mark, Arc<Stars>);

/// A read of the watermark and the stars, shared by several timeline reads.
struct WatermarkRead {
    began: Instant,
    result: OnceCell<Result<Watermark, Error>>,
}

impl WatermarkRead {
    fn begin() -> Arc<Self> {
        Arc::new(Self { began: Instant::now(), result: OnceCell::new() })
    }

    /// Returns true if the read began no earlier than `needed`, and has not failed.
    fn serves(&self, needed: Instant) -> bool {
        self.began >= needed && !matches!(self.result.get(), Some(Err(_)))
    }
}

impl Strategy {
    /// Returns a read that began no earlier than `needed`: the last one, or a new one.
    fn read_since(&self, needed: Instant) -> Arc<WatermarkRead> {
        let mut last = self.last.lock();
        match last.as_ref().filter(|read| read.serves(needed)) {
            Some(read) => Arc::clone(read),
            None => Arc::clone(last.insert(WatermarkRead::begin())),
        }
    }

    /// Adds authors who were stars when Redis had been restarted this number of times.
    fn add_known(&self, authors: &[UserId], changes: u64) {
        let mut known = self.known.write();
        if known.changes != changes {
            *known = KnownStars { authors: HashSet::new(), changes };
        }
        known.authors.extend(authors);
    }

    /// Adds new stars. The next timeline read reads the watermark and the stars again.
    pub(in crate::app) fn add_stars(&self, authors: &[UserId], changes: u64) {
        self.add_known(authors, changes);
        *self.last.lock() = None;
    }
}

/// The stars up to a number.
#[derive(Default)]
pub(in crate::app) struct Stars {
    /// The number of the last star.
    last: u64,
    /// The stars, in the order of their numbers.
    pub(super) authors: Vec<UserId>,
}

impl App {
    /// Returns the generation of the strategy in force. Makes no round trip on a cache hit; otherwise one.
    pub(in crate::app) async fn generation(&self) -> Result<u64, Error> {
        let strategy = self.0.rules.timeline.timeline_strategy.as_str();
        let enter = async || {
            timeline::enter_strategy(self.keys(), strategy).send("timeline: strategy", self.store()).await
        };
        Ok(*self.0.process.strategy.generation.get_or_try_init(enter).await?)
    }

    /// Runs step 1 of a timeline read: returns the watermark and the stars. Makes one round trip, or none if another
    /// caller has read them recently enough.
    pub(in crate::app) async fn watermark(&self, freshness: Freshness) -> Result<Watermark, Error> {
        let strategy = &self.0.process.strategy;
        let read = match freshness {
            Freshness::Recent => strategy.read_since(self.recently()),
            Freshness::Since(needed) => strategy.read_since(needed),
        };
        // The result serves other operations too, so this operation's budget does not limit it.
        let read =
            read.result.get_or_init(|| Box::pin(budget::unlimited(self.read_watermark()))).await.clone();
        match (read, freshness) {
            (Err(error), Freshness::Recent) if error.is_unreachable() => {
                let latest = strategy.latest.read();
                latest.clone().ok_or(error)
            }
            (read, _) => read,
        }
    }

    /// Returns true if an author is a star, as far as this process knows. Makes no round trip.
    ///
    /// If the author has become a star through another process, a post may be pushed as well as pulled. Readers see it
    /// once.
    pub(in crate::app) fn is_known_star(&self, author: UserId) -> bool {
        let known = self.0.process.strategy.known.read();
        known.changes == self.store().changes() && known.authors.contains(&author)
    }

    /// Returns the time since which a watermark is recent enough for a timeline read.
    fn recently(&self) -> Instant {
        let age = Duration::from_millis(self.0.rules.timeline.timeline_watermark_age.into());
        let now = Instant::now();
        now.checked_sub(age).unwrap_or(now)
    }

    async fn read_watermark(&self) -> Result<Watermark, Error> {
        let watermark = self.read_new_stars().await?;
        let latest = &self.0.process.strategy.latest;
        let mut latest = latest.write();
        // Reads may end in another order than they began.
        let is_newer = |(mark, stars): &Watermark| *mark <= watermark.0 && stars.last <= watermark.1.last;
        if latest.as_ref().is_none_or(is_newer) {
            *latest = Some(watermark.clone());
        }
        Ok(watermark)
    }

    /// Reads the watermark, and the stars that this process does not know yet.
    async fn read_new_stars(&self) -> Result<Watermark, Error> {
        let (stars, changes) = (&self.0.process.strategy.stars, self.store().changes());
        let known = Arc::clone(&stars.read());
        let read = timeline::watermark(self.keys(), known.authors.last().copied(), known.last);
        let read = read.send("timeline: watermark", self.store()).await?;
        // After a failover that resets the id counter to an older value, the server must not reissue ids that
        // readers have passed.
        self.0.process.last_issued.fetch_max(read.mark.get(), Ordering::Relaxed);
        if read.last_star == known.last && read.known_star == known.last {
            return Ok((read.mark, known));
        }
        self.0.process.strategy.add_known(&read.new_stars, changes);
        let before = if read.known_star == 0 { &[] } else { &known.authors[..] };
        let authors = [before, &read.new_stars].concat();
        let current = Arc::new(Stars { last: read.last_star, authors });
        *stars.write() = Arc::clone(&current);
        Ok((read.mark, current))
    }
}
