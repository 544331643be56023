//! Archives the visitor counts of past days.

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Error, with_causes};
use crate::model::clock::Day;
use crate::store::command::Command;
use crate::store::key::{Keys, Layout};
use crate::store::visit;

/// Delay between the end of a day and its closing. Longer than any request takes, and longer than the clock
/// skew between servers.
pub const CLOSED_AFTER: Duration = Duration::from_mins(10);
/// Interval between checks for days to close.
const ROUND: Duration = Duration::from_mins(1);
/// Maximum number of shards per batch.
const SHARDS_AT_A_TIME: usize = 1_000;

impl App {
    /// Archives the visitor counts of past days periodically, until dropped.
    pub async fn keep_closing_days(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // Log each outage once.
        let mut reported = None;
        loop {
            rounds.tick().await;
            let causes = self.close_days().await.err().map(|error| with_causes(&error));
            if let Some(causes) = &causes
                && reported.as_ref() != Some(causes)
            {
                tracing::warn!(causes, "visits of past days cannot be archived; they stay in Redis");
            }
            reported = causes;
        }
    }

    /// Archives the visitor counts of days that ended at least [`CLOSED_AFTER`] ago. Returns their number.
    pub async fn close_days(&self) -> Result<usize, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        if !days.unknown.is_empty() {
            let (key, unknown) = (self.keys().visit_days(), days.unknown);
            tracing::warn!(key = key.name(), ?unknown, "malformed entries in the list of visit days");
        }
        let due = |layout: &&Layout| self.is_due(layout.day);
        let due: Vec<Layout> = days.open.iter().filter(due).copied().collect();
        for layout in &due {
            self.close_day(*layout).await?;
        }
        Ok(due.len())
    }

    /// Returns true if a day ended at least [`CLOSED_AFTER`] ago.
    fn is_due(&self, day: Day) -> bool {
        day < Day::of(self.now().minus(CLOSED_AFTER))
    }

    /// Returns the number of past days that are due for archiving. Makes one round trip.
    pub async fn days_to_close(&self) -> Result<usize, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        Ok(days.open.iter().filter(|layout| self.is_due(layout.day)).count())
    }

    /// Runs steps 3 to 6 for a day.
    async fn close_day(&self, layout: Layout) -> Result<(), Error> {
        let archive = self.archive().await?;
        let visitors = self.for_shards("visit: close", layout, visit::close).await?.into_iter().sum();
        archive.write_visits(layout.day, visitors).await?;
        self.expire_visits("visit: expire", layout).await?;
        visit::forget(self.keys(), layout.day).send("visit: forget", self.store()).await?;
        Ok(())
    }

    /// Sets the shards of a layout to expire, and notes that.
    pub(super) async fn expire_visits(&self, step: &'static str, layout: Layout) -> Result<(), Error> {
        self.for_shards(step, layout, visit::expire).await?;
        visit::note_closed(self.keys(), layout, self.now()).send("visit: closed", self.store()).await?;
        Ok(())
    }

    /// Runs a command for all shards of a day, in batches.
    async fn for_shards<T>(
        &self,
        step: &'static str,
        layout: Layout,
        command: impl Fn(&Keys, Layout, u32) -> Command<T>,
    ) -> Result<Vec<T>, Error> {
        let mut replies = Vec::new();
        let all: Vec<u32> = (0..layout.shards).collect();
        for some in all.chunks(SHARDS_AT_A_TIME) {
            let commands = some.iter().map(|&shard| command(self.keys(), layout, shard));
            replies.extend(self.send_all(step, commands).await?);
        }
        Ok(replies)
    }
}
