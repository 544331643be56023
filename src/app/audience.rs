//! Records and reads profile views: each viewer of a profile, once per day, for up to 30 days.
//!
//! A view is a signed-in user's request for another user by id or name, with at least one profile field.
//! Appearing in a list is not a view.

use std::collections::HashSet;
use std::sync::Arc;

use futures::future::try_join_all;

use crate::app::App;
use crate::app::error::Error;
use crate::app::read::{Load, Pending, Read, Requests};
use crate::app::viewer::Viewer;
use crate::config::Switch;
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::audience;
use crate::store::tree::{GENERATIONS, ROOM, Shard};

pub use crate::store::audience::DAYS as MOST_DAYS;

/// Approximate maximum number of viewers read per profile. If there are more, only a sample is read.
const MOST_VISITORS: usize = 50_000;
/// Maximum number of hash digits used for sampling. These digits also determine a profile viewer's shards.
const MOST_DIGITS: u32 = GENERATIONS - 1;

impl App {
    /// Records that the viewer viewed these users' profiles. Logs failures, which do not affect the request.
    /// Makes no round trip if this process has already recorded all of these views today; otherwise one.
    pub async fn record_views(&self, viewer: &Viewer, users: &[UserId]) {
        let Viewer::SignedIn(signed_in) = viewer else { return };
        if !self.keeps_audiences() {
            return;
        }
        let (visitor, day) = (signed_in.user, signed_in.day);
        let is_new =
            |user: &UserId| *user != visitor && !self.0.process.views.is_done(day, &(*user, visitor));
        let mut users: Vec<UserId> = users.iter().copied().filter(is_new).collect();
        users.sort_unstable();
        users.dedup();
        if let Err(error) = self.try_to_record_views(&users, visitor, day).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "a profile view could not be recorded");
        }
    }

    async fn try_to_record_views(&self, users: &[UserId], visitor: UserId, day: Day) -> Result<(), Error> {
        // The notes come first: Redis executes a batch in this order. If a cluster's master does not execute its part,
        // the view is recorded again with the next request, or expires by itself.
        let note = |&user: &UserId| audience::note(self.keys(), visitor, day, user);
        let record = |&user: &UserId| audience::record(self.keys(), user, day, visitor);
        self.send_all("audience: record", users.iter().map(note).chain(users.iter().map(record))).await?;
        for &user in users {
            self.0.process.views.note(day, (user, visitor));
        }
        Ok(())
    }

    /// Returns true if the server records profile views.
    #[must_use]
    pub fn keeps_audiences(&self) -> bool {
        self.0.rules.visit.visit_audience == Switch::On
    }
}

/// A read of the viewers of a profile on a day, in one shard.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
struct VisitorShard {
    user: UserId,
    day: Day,
    shard: Shard,
}

impl Read for VisitorShard {
    type Value = Arc<[u64]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let visitors = requests.push(audience::read(requests.keys(), self.user, self.day, self.shard));
        Pending::hot(move |responses| Ok(responses.replies.take(visitors)?.into()))
    }
}

/// Returns the users who viewed a user's profile within the `days` days that end with `today`. Makes one
/// round trip, plus one per additional level of shards if there are 512 viewers or more on a day.
pub async fn visitors(load: &impl Load, user: UserId, today: Day, days: i64) -> Result<Visitors, Error> {
    let mut audience = Audience::new(today, days);
    loop {
        let open = audience.take_open();
        if open.is_empty() {
            return Ok(audience.finish());
        }
        let read = |&(day, shard): &(Day, Shard)| load.load(VisitorShard { user, day, shard });
        let found = try_join_all(open.iter().map(read)).await?;
        for ((day, shard), found) in open.iter().zip(found) {
            audience.add(*day, *shard, &found);
        }
    }
}

/// A profile's viewers over several days, read shard by shard. The size of a shard shows if there are shards
/// below it.
///
/// If there are too many viewers, the audience is a sample: the viewers whose hash ends in at least `digits`
/// zero digits. `digits` grows as needed. The same users are sampled on every day.
struct Audience {
    /// Shards to read next.
    open: Vec<(Day, Shard)>,
    visitors: HashSet<UserId>,
    /// Number of lowest hash digits that must be zero.
    digits: u32,
    most: usize,
}

/// The viewers of a profile.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Visitors {
    /// All viewers, or a sample of them, in ascending order of id.
    pub some: Arc<[UserId]>,
    /// Number of viewers that each entry represents; 1 without sampling.
    pub weight: u64,
}

impl Audience {
    /// Creates an audience of `days` days ending today, with no shards read yet.
    fn new(today: Day, days: i64) -> Self {
        Self::with_room_for(MOST_VISITORS, today, days)
    }

    fn with_room_for(most: usize, today: Day, days: i64) -> Self {
        let open = (0..days).map(|ago| (today.plus(-ago), Shard::ROOT)).collect();
        Self { open, visitors: HashSet::new(), digits: 0, most }
    }

    /// Takes the shards to read next; empty once all are read.
    fn take_open(&mut self) -> Vec<(Day, Shard)> {
        std::mem::take(&mut self.open)
    }

    /// Adds the viewers found in a shard, which has these elements.
    fn add(&mut self, day: Day, shard: Shard, found: &[u64]) {
        self.open.extend(shard.below(found).into_iter().map(|shard| (day, shard)));
        let visitors = found.iter().copied().filter_map(UserId::new);
        self.visitors.extend(visitors.filter(|visitor| audience::is_sampled(*visitor, self.digits)));
        while self.visitors.len() + self.open.len() * ROOM > self.most && self.digits < MOST_DIGITS {
            self.digits += 1;
            self.visitors.retain(|visitor| audience::is_sampled(*visitor, self.digits));
            self.open.retain(|(_, shard)| shard.has_hashes_with(self.digits));
        }
    }

    /// Returns the viewers found.
    fn finish(self) -> Visitors {
        let mut some: Vec<UserId> = self.visitors.into_iter().collect();
        some.sort_unstable();
        Visitors { some: some.into(), weight: audience::weight(self.digits) }
    }
}

#[cfg(test)]
mod tests {
    use std::collections::HashMap;

    use super::*;

    /// Builds the tree of a day with these visitors.
    fn tree(visitors: impl Iterator<Item = u64>) -> HashMap<Shard, Vec<u64>> {
        let mut tree: HashMap<Shard, Vec<u64>> = HashMap::new();
        for visitor in visitors.filter_map(UserId::new) {
            let mut path = Shard::all_of(visitor);
            let shard = path.find(|shard| tree.get(shard).is_none_or(|found| found.len() < ROOM));
            tree.entry(shard.unwrap()).or_default().push(visitor.get());
        }
        tree
    }

    fn read(most: usize, days: &[HashMap<Shard, Vec<u64>>]) -> (usize, Visitors) {
        let today = Day::from_number(7);
        let mut audience = Audience::with_room_for(most, today, i64::try_from(days.len()).unwrap());
        let mut count = 0;
        loop {
            let open = audience.take_open();
            if open.is_empty() {
                return (count, audience.finish());
            }
            for (day, shard) in open {
                let ago = usize::try_from(today.number() - day.number()).unwrap();
                let found = days[ago].get(&shard).map_or(&[][..], Vec::as_slice);
                count += found.len();
                audience.add(day, shard, found);
            }
        }
    }

    #[test]
    fn every_visitor_is_found_once() {
        let days = [tree(1..3_000), tree(2_500..2_600), tree(std::iter::empty())];
        let (_, visitors) = read(1_000_000, &days);
        assert_eq!((visitors.some.len(), visitors.weight), (2_999, 1));
    }

    #[test]
    fn of_very_many_visitors_an_even_sample_is_read() {
        let days = [tree(1..60_000), tree(30_000..90_000)];
        let (count, visitors) = read(20_000, &days);
        assert!(
            visitors.weight > 1 && visitors.some.len() <= 20_000 && count < 60_000,
            "{count} {visitors:?}"
        );
        let estimate = visitors.some.len() as u64 * visitors.weight;
        assert!(estimate.abs_diff(89_999) < 5_000, "{estimate}");
    }
}
