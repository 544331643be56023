//! Who came: every user who asks is counted once a day.
//!
//! A day goes through these steps:
//! 1. with the first who comes, it is fixed over how many shards it is spread;
//! 2. whoever comes is added to one of them;
//! 3. some minutes after its end every shard is closed, and what is in them counted;
//! 4. the number is written to the archive;
//! 5. the shards get their expiry;
//! 6. the day is forgotten in Redis.
//!
//! Steps 3 to 6 are done by every process that archives; each may be done again, and by two at a time. While the
//! archive is away, days stay in Redis.
//!
//! A request is of the day on which it came. Who is noted late, when that day is closed, is counted on the
//! next: on exactly one, because a shard is closed in the same moment as it is counted.

use std::collections::BTreeMap;
use std::sync::{Mutex, PoisonError};
use std::time::Duration;

use futures::future::try_join;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::once::Once;
use crate::app::question::{Answer, Question, mismatch};
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::Keys;
use crate::store::visit;

/// How long after its end a day is closed: longer than any request lasts, and than clocks differ.
pub const CLOSED_AFTER: Duration = Duration::from_mins(10);
/// How often it is looked whether a day is to be closed.
const ROUND: Duration = Duration::from_mins(1);
/// How many shards are looked after together.
const SHARDS_AT_A_TIME: usize = 1_000;

/// What this process knows of the visits of today.
#[derive(Default)]
pub(super) struct Visits {
    /// Who has been counted.
    came: Once<UserId>,
    /// A day, and over how many shards it is spread.
    shards: Mutex<Option<(Day, u32)>>,
}

impl Visits {
    fn shards_of(&self, day: Day) -> Option<u32> {
        let known = *self.shards.lock().unwrap_or_else(PoisonError::into_inner);
        known.filter(|(known, _)| *known == day).map(|(_, shards)| shards)
    }

    fn note_shards(&self, day: Day, shards: u32) {
        *self.shards.lock().unwrap_or_else(PoisonError::into_inner) = Some((day, shards));
    }
}

/// How many users came on a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyVisits {
    /// The day.
    pub day: Day,
    /// How many.
    pub unique_visitors: u64,
}

impl App {
    /// Counts a user as having come on a day. One round trip, if this process does not know that it was done;
    /// another one when a day is new to it.
    pub(super) async fn record_visit(&self, user: UserId, day: Day) -> Result<(), Error> {
        const ATTEMPTS: usize = 5;
        if self.0.visits.came.is_done(day, &user) {
            return Ok(());
        }
        let mut counted_on = day;
        for _ in 0..ATTEMPTS {
            match self.try_to_record(user, counted_on).await? {
                Recorded::Counted => {
                    self.0.visits.came.note(day, user);
                    return Ok(());
                }
                Recorded::Closed => counted_on = counted_on.plus(1),
                Recorded::Elsewhere => {}
            }
        }
        Err(Broken::GaveUp("counting a visit").into())
    }

    async fn try_to_record(&self, user: UserId, day: Day) -> Result<Recorded, Error> {
        let Some(shards) = self.0.visits.shards_of(day) else {
            let fix = visit::fix_shards(self.keys(), day, self.0.rules.visit.visits_expected);
            self.0.visits.note_shards(day, fix.send("visit: shards", self.store()).await?);
            return Ok(Recorded::Elsewhere);
        };
        let mut batch = Batch::new("visit: record");
        let recorded = batch.push(visit::record(self.keys(), day, shards, user));
        // A Redis that has lost its last moments may not know any more what was fixed.
        let fixed = batch.push(visit::fix_shards(self.keys(), day, self.0.rules.visit.visits_expected));
        let mut replies = batch.send(self.store()).await?;
        let (recorded, fixed) = (replies.take(recorded)?, replies.take(fixed)?);
        if fixed != shards {
            self.0.visits.note_shards(day, fixed);
            return Ok(Recorded::Elsewhere);
        }
        Ok(if recorded { Recorded::Counted } else { Recorded::Closed })
    }

    /// How many users came on each of the `first` days before a day, or up to today: the newest first, today's so
    /// far, and none from before anybody was counted. Two round trips, and a query if there are days in the
    /// archive.
    pub async fn visits(&self, first: usize, before: Option<Day>) -> Result<Vec<DailyVisits>, Error> {
        let today = Day::of(self.now());
        let newest = before.map_or(today, |before| before.plus(-1).min(today));
        let oldest = newest.plus(1 - i64::try_from(first).unwrap_or(i64::MAX));
        let Answer::VisitDays(open) = self.answer_one(Question::VisitDays).await? else { mismatch() };
        let known_since = open.iter().map(|(day, _)| *day).chain([today]).min();
        let is_shown = |(day, _): &&(Day, u32)| (oldest..=newest).contains(day);
        let shown: Vec<(Day, u32)> = open.iter().filter(is_shown).copied().collect();
        let are_all_open = (oldest.number()..=newest.number())
            .all(|day| day == today.number() || shown.iter().any(|(open, _)| open.number() == day));
        let archived = async {
            if are_all_open {
                return Ok(Vec::new());
            }
            Ok(self.archive().await?.visits(newest, first).await?)
        };
        let (counted, archived) = try_join(self.count_visitors(&shown), archived).await?;
        // There may be more where so many were found.
        let is_full = archived.len() == first;
        let since = archived.iter().map(|(day, _)| *day).chain(known_since).min();
        let since = if is_full || are_all_open { None } else { since };
        let known: BTreeMap<Day, u64> = archived.into_iter().chain(counted).collect();
        let days = (oldest.number()..=newest.number()).rev().map(Day::from_number);
        let days = days.take_while(|day| since.is_none_or(|since| *day >= since));
        let visits = |day| DailyVisits { day, unique_visitors: known.get(&day).copied().unwrap_or_default() };
        Ok(days.map(visits).collect())
    }

    async fn count_visitors(&self, days: &[(Day, u32)]) -> Result<Vec<(Day, u64)>, Error> {
        let questions: Vec<Question> =
            days.iter().map(|(day, shards)| Question::Visitors(*day, *shards)).collect();
        let mut answers = self.answer(&questions).await;
        let count = |(question, (day, _)): (&Question, &(Day, u32))| match answers
            .remove(question)
            .unwrap_or_else(|| mismatch())?
        {
            Answer::Count(count) => Ok((*day, count)),
            _ => mismatch(),
        };
        questions.iter().zip(days).map(count).collect()
    }

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
        let ended_before = Day::of(self.now().minus(CLOSED_AFTER));
        let mut days = visit::days(self.keys()).send("visit: days", self.store()).await?;
        days.retain(|(day, _)| *day < ended_before);
        days.sort_unstable();
        for (day, shards) in &days {
            self.close_day(*day, *shards).await?;
        }
        Ok(days.len())
    }

    /// Steps 3 to 6.
    async fn close_day(&self, day: Day, shards: u32) -> Result<(), Error> {
        let archive = self.archive().await?;
        let visitors = self.for_shards("visit: close", day, shards, visit::close).await?.into_iter().sum();
        archive.write_visits(day, visitors).await?;
        self.for_shards("visit: expire", day, shards, visit::expire).await?;
        visit::forget(self.keys(), day).send("visit: forget", self.store()).await?;
        Ok(())
    }

    /// Does the same with all shards of a day, some at a time.
    async fn for_shards<T>(
        &self,
        step: &'static str,
        day: Day,
        shards: u32,
        command: impl Fn(&Keys, Day, u32) -> Command<T>,
    ) -> Result<Vec<T>, Error> {
        let mut replies = Vec::new();
        let all: Vec<u32> = (0..shards).collect();
        for some in all.chunks(SHARDS_AT_A_TIME) {
            let mut batch = Batch::new(step);
            let tickets = some.iter().map(|&shard| batch.push(command(self.keys(), day, shard))).collect();
            replies.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(replies)
    }
}

/// What has become of an attempt to count a visit.
enum Recorded {
    /// The user is counted.
    Counted,
    /// The day is closed.
    Closed,
    /// It must be done again, over another number of shards.
    Elsewhere,
}
