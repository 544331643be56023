//! The delivered mark: every post up to it has come to all timelines that it is brought to, or never will.
//!
//! Whoever watches a timeline remembers it, and what it has seen above; so it knows of everything that comes later
//! that it has not seen, in whatever order it comes. Only a post whose delivery was given up, and is taken up again by
//! hand, comes without being told.
//!
//! # Why
//! The watermark says which posts are visible, but a visible post is still on its way for a moment. A post is noted as
//! being published until its job is there, and as to be delivered until that is done; so first the watermark is read,
//! and then what is to be delivered: what is in neither was done before. An old mark is as good as a new one, only
//! that more lies above it.

use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

use tokio::sync::Mutex;

use crate::app::App;
use crate::app::error::Error;
use crate::store::batch::Batch;
use crate::store::fanout;
use crate::store::key::FANOUT_PARTITIONS;

/// How often it is read if nobody asks for it.
const ROUND: Duration = Duration::from_secs(1);

/// The delivered mark as this process knows it.
#[derive(Default)]
pub(in crate::app) struct DeliveredMark {
    /// As it was last read; 0 before that.
    known: AtomicU64,
    /// Held while it is read.
    reading: Mutex<()>,
}

impl App {
    /// The mark as it was last read. No round trip.
    pub(in crate::app) fn known_delivered_mark(&self) -> u64 {
        self.0.delivered_mark.known.load(Ordering::Relaxed)
    }

    /// The mark as it is now, or was a moment ago if it is just being read. Two round trips at most.
    pub(in crate::app) async fn delivered_mark(&self) -> Result<u64, Error> {
        let mark = &self.0.delivered_mark;
        let _reading = match mark.reading.try_lock() {
            Ok(reading) => reading,
            Err(_) if self.known_delivered_mark() > 0 => return Ok(self.known_delivered_mark()),
            Err(_) => mark.reading.lock().await,
        };
        let (watermark, _) = self.watermark().await?;
        let mut batch = Batch::new("delivered mark");
        let least = |partition| batch.push(fanout::least_open(self.keys(), partition));
        let tickets = (0..FANOUT_PARTITIONS).map(least).collect();
        let open = batch.send(self.store()).await?.take_all(tickets)?;
        let delivered = open.into_iter().flatten().map(|post| post.get() - 1).chain([watermark]).min();
        let delivered = delivered.unwrap_or(0);
        mark.known.store(delivered, Ordering::Relaxed);
        Ok(delivered)
    }

    /// Reads the mark from time to time, until it is dropped.
    pub(in crate::app) async fn keep_delivered_mark(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            // What does not answer is told by those who need it.
            drop(self.delivered_mark().await);
        }
    }
}
