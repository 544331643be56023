//! Daily visitor counts: from Redis for days that are not archived, otherwise from the archive.

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

/// Maximum number of day shards whose visitors are counted for one operation.
const MOST_SHARDS: u32 = 4_096;

/// The number of visitors of a day.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DailyVisits {
    /// The day.
    pub day: Day,
    /// The number of distinct users.
    pub unique_visitors: u64,
}

/// The days with visits.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct VisitDays;

impl Read for VisitDays {
    type Value = Arc<Days>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let days = requests.push(visit::days(requests.keys()));
        Pending::hot(move |responses| Ok(Arc::new(responses.replies.take(days)?)))
    }
}

/// The number of visitors on a day that is not archived.
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

/// The archived visitor counts of a number of days, newest first.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct ArchivedVisits {
    /// The last day.
    pub newest: Day,
    /// The number of days.
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
    /// Returns the number of visitors on each of the `first` days before a day, or up to today. Two round trips, and a
    /// query if the archive is needed.
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

    /// Returns the number of visitors on a day that is not archived: the current number or, if counting takes very many
    /// commands, one some seconds old.
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
    /// The first day with visits, as far as Redis knows.
    since: Option<Day>,
    /// Requested days that are not archived.
    open: Vec<Layout>,
}

impl History {
    /// Creates a history of the `first` days before a day, or up to today.
    fn new(days: &Days, today: Day, first: usize, before: Option<Day>) -> Self {
        let newest = before.map_or(today, |before| before.plus(-1).min(today));
        let oldest = newest.plus(1_i64.saturating_sub(i64::try_from(first).unwrap_or(i64::MAX)));
        let since = days.open.iter().map(|layout| layout.day).chain(days.since).min();
        let is_asked = |layout: &&Layout| (oldest..=newest).contains(&layout.day);
        let open = days.open.iter().filter(is_asked).copied().collect();
        Self { newest, oldest, today, since, open }
    }

    /// Returns the newest day, and the number of days, to read from the archive; `None` if Redis suffices.
    fn archived(&self) -> Option<(Day, usize)> {
        // A day that ended earlier may be archived and expired, though Redis still lists it.
        let is_in_redis = |day: Day| day >= self.today.plus(-1) && self.is_open(day);
        let is_enough = self.since.is_some_and(|since| self.days(since).all(is_in_redis));
        let count = usize::try_from(self.newest.number() - self.oldest.number() + 1).unwrap_or(0);
        (count > 0 && !is_enough).then_some((self.newest, count))
    }

    /// Returns the count of each day since the first one with visits, newest first. If the archive is
    /// unavailable, fails unless Redis has all days.
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
            // An archived day may have expired in Redis; any other may have grown since.
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
    fn the_archive_is_asked_only_for_what_redis_does_not_know() {
        let asked = |open: &[i64], since, first, before: Option<i64>| {
            History::new(&days(open, since), day(10), first, before.map(day)).archived()
        };
        assert_eq!(asked(&[9, 10], 9, 7, None), None);
        assert_eq!(asked(&[9, 10], 1, 2, None), None);
        assert_eq!(asked(&[9, 10], 1, 3, None), Some((day(10), 3)));
        assert_eq!(asked(&[9], 9, 7, None), Some((day(10), 7)), "today may have been closed by a fast clock");
        assert_eq!(asked(&[7, 8, 9, 10], 7, 7, None), Some((day(10), 7)), "some may have expired");
        assert_eq!(asked(&[10], 1, 3, Some(5)), Some((day(4), 3)));
        assert_eq!(asked(&[10], 8, 3, Some(5)), None);
        assert_eq!(asked(&[10], 1, 0, None), None);
        let unknown = History::new(&Days::default(), day(10), 7, None);
        assert_eq!(unknown.archived(), Some((day(10), 7)));
    }

    #[test]
    fn the_greater_number_of_a_day_is_told() {
        let history = History::new(&days(&[9, 10], 8), day(10), 7, None);
        assert_eq!(visitors(&history, &[0, 4], &[(9, 3), (8, 1)]), [(10, 4), (9, 3), (8, 1)]);
        assert_eq!(visitors(&history, &[5, 4], &[(9, 3)]), [(10, 4), (9, 5), (8, 0)]);
        assert_eq!(
            visitors(&history, &[5, 4], &[(10, 9), (6, 2)]),
            [(10, 9), (9, 5), (8, 0), (7, 0), (6, 2)]
        );
    }

    #[test]
    fn without_the_archive_redis_tells_what_it_knows_in_full() {
        let away = || Err(Broken::GaveUp("test").into());
        let tell = |open: &[i64], since, first| {
            let counted = vec![1; open.len()];
            History::new(&days(open, since), day(10), first, None).merge(&counted, away())
        };
        assert_eq!(tell(&[8, 9], 8, 7).unwrap().len(), 3);
        assert_eq!(tell(&[8, 9, 10], 1, 3).unwrap().len(), 3);
        assert!(tell(&[8, 9, 10], 7, 7).is_err() && tell(&[8, 10], 8, 7).is_err());
    }

    #[test]
    fn days_without_end_are_none() {
        for before in [i64::MIN, i64::MAX] {
            let history = History::new(&days(&[10], 10), day(10), 100, Some(day(before)));
            assert!(visitors(&history, &[1], &[]).len() <= 1);
        }
        assert!(visitors(&History::new(&days(&[10], 10), day(10), 0, None), &[], &[]).is_empty());
    }
}
