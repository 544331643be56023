//! The delivered mark: every post up to it has reached all timelines it is pushed to, or never will.
//!
//! A live reader of a timeline stores the mark together with the posts it has seen above it. From these it
//! can identify every later post it has not seen, in whatever order they arrive. The one exception is a post
//! whose delivery was abandoned and later restarted by hand: it arrives without notice.
//!
//! # Why
//! The watermark determines which posts are visible, but a visible post may still be on its way for a moment.
//! A post is recorded as being published until its job exists, and as to be delivered until the job is done.
//! The watermark is therefore read first and the open jobs second: a post in neither was finished before. A
//! stale mark is as correct as a fresh one; more posts lie above it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::model::mark::Mark;
use crate::store::batch::Batch;
use crate::store::fanout;
use crate::store::key::FANOUT_PARTITIONS;

/// Refresh interval while there are no requests for it.
const ROUND: Duration = Duration::from_secs(1);

/// The delivered mark as this process last read it.
#[derive(Default)]
pub(in crate::app) struct DeliveredMark {
    /// Last value read; 0 before the first.
    known: AtomicU64,
    /// Held during a refresh.
    reading: Mutex<()>,
}

impl App {
    /// Returns the cached mark; `None` before it was read. No round trip.
    pub(in crate::app) fn known_delivered_mark(&self) -> Option<Mark> {
        let known = Mark::new(self.0.process.delivered_mark.known.load(Ordering::Relaxed));
        (known > Mark::START).then_some(known)
    }

    /// Refreshes and returns the mark. During a concurrent refresh, returns the cached value. At most two
    /// round trips.
    pub(in crate::app) async fn delivered_mark(&self) -> Result<Mark, Error> {
        let mark = &self.0.process.delivered_mark;
        let _reading = match mark.reading.try_lock() {
            Ok(reading) => reading,
            Err(_) => match self.known_delivered_mark() {
                Some(known) => return Ok(known),
                None => mark.reading.lock().await,
            },
        };
        let (watermark, _) = self.watermark().await?;
        let mut batch = Batch::new("delivered mark");
        let least = |partition| batch.push(fanout::least_open(self.keys(), partition));
        let tickets = (0..FANOUT_PARTITIONS).map(least).collect();
        let open = batch.send(self.store()).await?.take_all(tickets)?;
        let delivered = open.into_iter().flatten().map(Mark::before).fold(watermark, Mark::min);
        mark.known.store(delivered.get(), Ordering::Relaxed);
        Ok(delivered)
    }

    /// Refreshes the mark periodically until dropped.
    pub(in crate::app) async fn keep_delivered_mark(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            // Errors are reported by the callers that need the mark.
            drop(self.delivered_mark().await);
        }
    }
}
