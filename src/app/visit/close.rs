//! Taking the days that are over to the archive.

use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Day;
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::{Keys, Layout};
use crate::store::visit;

/// How long after its end a day is closed: longer than any request lasts, and than clocks differ.
pub const CLOSED_AFTER: Duration = Duration::from_mins(10);
/// How often it is looked whether a day is to be closed.
const ROUND: Duration = Duration::from_mins(1);
/// How many shards are looked after together.
const SHARDS_AT_A_TIME: usize = 1_000;

impl App {
    /// Takes the days that are over to the archive, until it is dropped.
    pub async fn keep_closing_days(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        // What was told of an outage is not told again.
        let mut told = None;
        loop {
            rounds.tick().await;
            let causes = self.close_days().await.err().map(|error| error.causes());
            if let Some(causes) = &causes
                && told.as_ref() != Some(causes)
            {
                tracing::warn!(causes, "the visits of past days cannot be archived now; they stay in Redis");
            }
            told = causes;
        }
    }

    /// Takes the days that have been over for some minutes to the archive. Answers how many there were.
    pub async fn close_days(&self) -> Result<usize, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        if !days.unknown.is_empty() {
            let (key, unknown) = (self.keys().visit_days(), days.unknown);
            tracing::warn!(key = key.name(), ?unknown, "what stands among the days of visits is none");
        }
        let due = |layout: &&Layout| self.is_due(layout.day);
        let due: Vec<Layout> = days.open.iter().filter(due).copied().collect();
        for layout in &due {
            self.close_day(*layout).await?;
        }
        Ok(due.len())
    }

    /// Whether a day has been over for so long that it is closed.
    fn is_due(&self, day: Day) -> bool {
        day < Day::of(self.now().minus(CLOSED_AFTER))
    }

    /// How many days wait to be archived that are over.
    pub async fn days_to_close(&self) -> Result<usize, Error> {
        let days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        Ok(days.open.iter().filter(|layout| self.is_due(layout.day)).count())
    }

    /// Steps 3 to 6.
    async fn close_day(&self, layout: Layout) -> Result<(), Error> {
        let archive = self.archive().await?;
        let visitors = self.for_shards("visit: close", layout, visit::close).await?.into_iter().sum();
        archive.write_visits(layout.day, visitors).await?;
        self.for_shards("visit: expire", layout, visit::expire).await?;
        visit::forget(self.keys(), layout.day).send("visit: forget", self.store()).await?;
        Ok(())
    }

    /// Does the same with all shards of a day, some at a time.
    pub(super) async fn for_shards<T>(
        &self,
        step: &'static str,
        layout: Layout,
        command: impl Fn(&Keys, Layout, u32) -> Command<T>,
    ) -> Result<Vec<T>, Error> {
        let mut replies = Vec::new();
        let all: Vec<u32> = (0..layout.shards).collect();
        for some in all.chunks(SHARDS_AT_A_TIME) {
            let mut batch = Batch::new(step);
            let tickets = some.iter().map(|&shard| batch.push(command(self.keys(), layout, shard))).collect();
            replies.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(replies)
    }
}
