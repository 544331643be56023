//! Reads daily visitor counts, from Redis for unarchived days and from the archive for all other days.

use std::collections::BTreeMap;
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::{join, join_all};

use crate::app::App;
use crate::app::archive::Found;
use crate::app::error::Error;
use crate::app::read::{Load, Pending, Read, Requests};
use crate::model::clock::Day;
pub use crate::store::key::Layout;
use crate::store::visit::{self, Days};

/// Maximum number of shards counted per operation, over all days. Beyond it, the operation uses cached
/// counts.
const MOST_SHARDS: u32 = 4_096;

/// A day's visitor count.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyVisits {
    /// The day, in UTC.
    pub day: Day,
    /// Number of distinct users who sent a request on the day.
    pub unique_visitors: u64,
}

/// A read of the days recorded in Redis.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct VisitDays;

impl Read for VisitDays {
    type Value = Arc<Days>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let days = requests.push(visit::days(requests.keys()));
        Pending::hot(move |responses| Ok(Arc::new(responses.replies.take(days)?)))
    }
}

/// A read of an unarchived day's visitor count.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct VisitorCount(pub Layout);

impl Read for VisitorCount {
    type Value = u64;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let mut count = |shard| requests.push(visit::count(requests.keys(), self.0, shard));
        let counts: Vec<_> = (0..self.0.shards).map(&mut count).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(counts)?.into_iter().sum()))
    }
}

/// A read of the archived visitor counts of consecutive days.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArchivedVisits {
    /// The newest of the days.
    pub newest: Day,
    /// Number of days, counted back from `newest`.
    pub count: usize,
}

impl Read for ArchivedVisits {
    type Value = Arc<[(Day, u64)]>;

    fn request(&self, _: &mut Requests<'_>) -> Pending<Self::Value> {
        let period = (self.newest, self.count);
        Pending::cold(move |responses| {
            responses.wanted.visits.push(period);
            Ok(move |found: &Found| found.visits[&period].clone())
        })
    }
}

impl App {
    /// Returns the visitor counts of the last `first` days before the day `before`, or up to and including
    /// today if `before` is `None`. Makes two round trips, plus one query if the archive is needed.
    pub async fn visits(
        &self,
        load: &impl Load,
        first: usize,
        before: Option<Day>,
    ) -> Result<Vec<DailyVisits>, Error> {
        let history = History::new(&*load.load(VisitDays).await?, self.today(), first, before);
        let shards: u32 = history.open.iter().map(|layout| layout.shards).sum();
        let counted = history.open.iter().map(|layout| self.visitors(load, *layout, shards > MOST_SHARDS));
        let archived = async {
            match history.archived() {
                None => Ok(Vec::new()),
                Some((newest, count)) => Ok(load.load(ArchivedVisits { newest, count }).await?.to_vec()),
            }
        };
        let (counted, archived) = join(join_all(counted), archived).await;
        let counted: Vec<u64> = counted.into_iter().collect::<Result<_, Error>>()?;
        history.merge(&counted, archived)
    }

    /// Returns the number of visitors on an unarchived day: the current number or, if `is_large`, a number
    /// cached for up to ten seconds.
    async fn visitors(&self, load: &impl Load, layout: Layout, is_large: bool) -> Result<u64, Error> {
        if is_large {
            self.recent_visitors(layout).boxed().await
        } else {
            load.load(VisitorCount(layout)).await
        }
    }
}

/// A requested period, and the sources of its counts.
struct History {
    newest: Day,
    oldest: Day,
    today: Day,
    /// The first day with visits; `None` if Redis has no record of it.
    since: Option<Day>,
    /// Unarchived days in the requested period.
    open: Vec<Layout>,
}

impl History {
    /// Creates a history of the last `first` days before the day `before`, or up to and including today if
    /// `before` is `None`.
    fn new(days: &Days, today: Day, first: usize, before: Option<Day>) -> Self {
        let newest = before.map_or(today, |before| before.plus(-1).min(today));
        let oldest = newest.plus(1_i64.saturating_sub(i64::try_from(first).unwrap_or(i64::MAX)));
        let since = days.open.iter().map(|layout| layout.day).chain(days.since).min();
        let is_asked = |layout: &&Layout| (oldest..=newest).contains(&layout.day);
        let open = days.open.iter().filter(is_asked).copied().collect();
        Self { newest, oldest, today, since, open }
    }

    /// Returns the newest day and the number of days to read from the archive; `None` if Redis suffices.
    fn archived(&self) -> Option<(Day, usize)> {
        // A day before yesterday may be archived, and its shards may have expired, although Redis still lists
        // the day.
        let is_in_redis = |day: Day| day >= self.today.plus(-1) && self.is_open(day);
        let is_enough = self.since.is_some_and(|since| self.days(since).all(is_in_redis));
        let count = usize::try_from(self.newest.number() - self.oldest.number() + 1).unwrap_or(0);
        (count > 0 && !is_enough).then_some((self.newest, count))
    }

    /// Returns the count of each requested day since the first day with visits, newest first. If the archive
    /// is unavailable, fails unless Redis has all of these days.
    fn merge(
        &self,
        counted: &[u64],
        archived: Result<Vec<(Day, u64)>, Error>,
    ) -> Result<Vec<DailyVisits>, Error> {
        let since = self.since.unwrap_or(self.today).min(self.today);
        let archived = match archived {
            Err(error) if !self.days(since).all(|day| day == self.today || self.is_open(day)) => {
                return Err(error);
            }
            archived => archived.unwrap_or_default(),
        };
        let since = archived.iter().map(|(day, _)| *day).fold(since, Day::min);
        let mut known: BTreeMap<Day, u64> = archived.into_iter().collect();
        for (layout, &visitors) in self.open.iter().zip(counted) {
            // An archived day's shards may have expired in Redis. If they have not, their count may have
            // grown since the day was archived.
            let number = known.entry(layout.day).or_default();
            *number = visitors.max(*number);
        }
        let visits = |day| DailyVisits { day, unique_visitors: known.get(&day).copied().unwrap_or_default() };
        Ok(self.days(since).map(visits).collect())
    }

    fn is_open(&self, day: Day) -> bool {
        self.open.iter().any(|layout| layout.day == day)
    }

    /// Returns the requested days since `since`, newest first.
    fn days(&self, since: Day) -> impl Iterator<Item = Day> + use<> {
        (self.oldest.max(since).number()..=self.newest.number()).rev().map(Day::from_number)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::error::Broken;

    fn day(number: i64) -> Day {
        Day::from_number(number)
    }

    fn days(open: &[i64], since: i64) -> Days {
        let open = open.iter().map(|number| Layout { day: day(*number), shards: 1 }).collect();
        Days { open, since: Some(day(since)), unknown: Vec::new() }
    }

    fn visitors(history: &History, counted: &[u64], archived: &[(i64, u64)]) -> Vec<(i64, u64)> {
        let archived = archived.iter().map(|(number, visitors)| (day(*number), *visitors)).collect();
        let merged = history.merge(counted, Ok(archived)).unwrap();
        merged.into_iter().map(|visits| (visits.day.number(), visits.unique_visitors)).collect()
    }

    #[test]
    fn the_archive_is_queried_only_for_days_that_redis_does_not_have() {
        let requested = |open: &[i64], since, first, before: Option<i64>| {
            History::new(&days(open, since), day(10), first, before.map(day)).archived()
        };
        assert_eq!(requested(&[9, 10], 9, 7, None), None);
        assert_eq!(requested(&[9, 10], 1, 2, None), None);
        assert_eq!(requested(&[9, 10], 1, 3, None), Some((day(10), 3)));
        assert_eq!(
            requested(&[9], 9, 7, None),
            Some((day(10), 7)),
            "today may have been closed by a fast clock"
        );
        assert_eq!(requested(&[7, 8, 9, 10], 7, 7, None), Some((day(10), 7)), "some may have expired");
        assert_eq!(requested(&[10], 1, 3, Some(5)), Some((day(4), 3)));
        assert_eq!(requested(&[10], 8, 3, Some(5)), None);
        assert_eq!(requested(&[10], 1, 0, None), None);
        let unknown = History::new(&Days::default(), day(10), 7, None);
        assert_eq!(unknown.archived(), Some((day(10), 7)));
    }

    #[test]
    fn the_greater_number_of_a_day_is_returned() {
        let history = History::new(&days(&[9, 10], 8), day(10), 7, None);
        assert_eq!(visitors(&history, &[0, 4], &[(9, 3), (8, 1)]), [(10, 4), (9, 3), (8, 1)]);
        assert_eq!(visitors(&history, &[5, 4], &[(9, 3)]), [(10, 4), (9, 5), (8, 0)]);
        assert_eq!(
            visitors(&history, &[5, 4], &[(10, 9), (6, 2)]),
            [(10, 9), (9, 5), (8, 0), (7, 0), (6, 2)]
        );
    }

    #[test]
    fn without_the_archive_redis_returns_days_that_it_has_completely() {
        let away = || Err(Broken::GaveUp("test").into());
        let merged = |open: &[i64], since, first| {
            let counted = vec![1; open.len()];
            History::new(&days(open, since), day(10), first, None).merge(&counted, away())
        };
        assert_eq!(merged(&[8, 9], 8, 7).unwrap().len(), 3);
        assert_eq!(merged(&[8, 9, 10], 1, 3).unwrap().len(), 3);
        assert!(merged(&[8, 9, 10], 7, 7).is_err() && merged(&[8, 10], 8, 7).is_err());
    }

    #[test]
    fn days_out_of_range_are_none() {
        for before in [i64::MIN, i64::MAX] {
            let history = History::new(&days(&[10], 10), day(10), 100, Some(day(before)));
            assert!(visitors(&history, &[1], &[]).len() <= 1);
        }
        assert!(visitors(&History::new(&days(&[10], 10), day(10), 0, None), &[], &[]).is_empty());
    }
}
