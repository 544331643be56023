//! Maintains the delivered mark. Every post up to the mark has reached all timelines it is pushed to, or
//! never will.
//!
//! A live reader of a timeline stores the mark together with the posts it has seen above the mark. With both,
//! it can identify every later post it has not seen, in whatever order posts arrive. The only exception is a
//! post whose delivery was abandoned and later restarted by an operator: live readers receive no event for
//! it.
//!
//! # Why
//! The watermark determines which posts are visible, but a visible post may not have reached all timelines
//! yet. Redis lists a post as being published until its job exists, and as an open job until its delivery
//! ends. The server therefore reads the watermark first and the open jobs second. A post up to the watermark
//! that has no open job is no longer being delivered. A stale mark is as correct as a fresh mark, but more
//! posts lie above it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::app::timeline::Freshness;
use crate::model::mark::Mark;
use crate::store::fanout;

/// Interval of background refreshes.
const ROUND: Duration = Duration::from_secs(1);

/// This process's cache of the delivered mark.
#[derive(Default)]
pub(in crate::app) struct DeliveredMark {
    /// One more than the last value read; 0 before the first read.
    known: AtomicU64,
    /// Lock held during a refresh.
    reading: Mutex<()>,
}

impl App {
    /// Returns the cached mark; `None` before the first read. Makes no round trip.
    pub(in crate::app) fn known_delivered_mark(&self) -> Option<Mark> {
        let known = self.0.process.delivered_mark.known.load(Ordering::Relaxed);
        known.checked_sub(1).map(Mark::new)
    }

    /// Refreshes and returns the mark. During a concurrent refresh, returns the cached value if there is one. If the
    /// store is unavailable, in a cluster perhaps only some partitions of it, returns the last value read, if any.
    /// Makes at most two round trips.
    pub(in crate::app) async fn delivered_mark(&self) -> Result<Mark, Error> {
        match self.refresh_delivered_mark().await {
            Err(error) if error.is_unreachable() => self.known_delivered_mark().ok_or(error),
            refreshed => refreshed,
        }
    }

    async fn refresh_delivered_mark(&self) -> Result<Mark, Error> {
        let mark = &self.0.process.delivered_mark;
        let _reading = match mark.reading.try_lock() {
            Ok(reading) => reading,
            Err(_) => match self.known_delivered_mark() {
                Some(known) => return Ok(known),
                None => mark.reading.lock().await,
            },
        };
        let delivered = self.read_delivered_mark(Freshness::Recent).await?;
        mark.known.store(delivered.get() + 1, Ordering::Relaxed);
        Ok(delivered)
    }

    /// Reads the mark, with a watermark of this freshness. Makes at most two round trips.
    pub(in crate::app) async fn read_delivered_mark(&self, freshness: Freshness) -> Result<Mark, Error> {
        let (watermark, _) = self.watermark(freshness).await?;
        let least = |partition| fanout::least_open(self.keys(), partition);
        let open = self.send_all("delivered mark", (0..self.keys().fanout_partitions()).map(least)).await?;
        Ok(open.into_iter().flatten().map(Mark::before).fold(watermark, Mark::min))
    }

    /// Refreshes the mark periodically until dropped.
    pub(in crate::app) async fn keep_delivered_mark(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            // Callers that need the mark report errors.
            drop(self.delivered_mark().await);
        }
    }
}
