//! Counts the visitors on days with a large number of shards, and caches the counts.
//!
//! A day with ten million expected visitors has about 40,000 shards, and counting each takes two commands.
//! Individual requests must not bear that cost. A process therefore counts such a day at most once per
//! [`FRESH`], a portion of the shards at a time, and all requests in between share the result.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use tokio::sync::Mutex;
use tokio::time::Instant;

use crate::app::App;
use crate::app::error::Error;
use crate::store::key::Layout;
use crate::store::visit;

/// Lifetime of a cached count.
const FRESH: Duration = Duration::from_secs(10);
/// Maximum number of shards counted per round trip. Limits how long other commands wait.
const PORTION: u32 = 500;

/// This process's cache of counts, by day.
#[derive(Default)]
pub(in crate::app) struct Counts(parking_lot::Mutex<HashMap<Layout, Arc<Counted>>>);

/// A day's visitor count, and the time at which it was obtained; `None` before the first count. The request
/// that counts holds the lock, and other requests wait for its result.
type Counted = Mutex<Option<(Instant, u64)>>;

impl Counts {
    /// Returns a day's cache entry. Evicts the stale entries of other days.
    fn of(&self, layout: Layout) -> Arc<Counted> {
        let mut counts = self.0.lock();
        counts.retain(|other, counted| {
            let is_fresh =
                |counted: &Option<(Instant, u64)>| counted.is_none_or(|(at, _)| at.elapsed() < FRESH);
            *other == layout || counted.try_lock().map_or(true, |counted| is_fresh(&counted))
        });
        Arc::clone(counts.entry(layout).or_default())
    }
}

impl App {
    /// Returns the number of visitors on an unarchived day, cached for up to ten seconds. Makes no round trip
    /// on a cache hit; otherwise one per 500 shards.
    pub async fn recent_visitors(&self, layout: Layout) -> Result<u64, Error> {
        let counted = self.0.process.visitor_counts.of(layout);
        let mut counted = counted.lock().await;
        if let Some((at, visitors)) = *counted
            && at.elapsed() < FRESH
        {
            return Ok(visitors);
        }
        let visitors = self.count_visitors(layout).await?;
        *counted = Some((Instant::now(), visitors));
        Ok(visitors)
    }

    async fn count_visitors(&self, layout: Layout) -> Result<u64, Error> {
        let mut visitors = 0;
        for first in (0..layout.shards).step_by(PORTION as usize) {
            let shards = first..layout.shards.min(first + PORTION);
            let commands = shards.map(|shard| visit::count(self.keys(), layout, shard));
            let counts: Vec<u64> = self.send_all("visits: count", commands).await?;
            visitors += counts.iter().sum::<u64>();
        }
        Ok(visitors)
    }
}
