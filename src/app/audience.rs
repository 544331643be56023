//! Who looked at whose profile: everybody once a day, as long as a month.
//!
//! A look is a signed-in user asking for somebody else by id or name, and for something of its profile. Whoever
//! turns up in a list was not looked at.

use crate::app::App;
use crate::app::error::Error;
use crate::app::viewer::Viewer;
use crate::config::Switch;
use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::audience::{self, Shard};
use crate::store::batch::Batch;

pub use crate::store::audience::DAYS as MOST_DAYS;

/// How many shards are read together: each may have some hundred visitors.
const SHARDS_AT_A_TIME: usize = 200;

impl App {
    /// Notes that the viewer has looked at these users' profiles. One round trip, if there is one among them of
    /// whom this process does not know that it was done. Whether or not it can be noted, what was asked for is
    /// told.
    pub async fn record_views(&self, viewer: &Viewer, users: &[UserId]) {
        let Viewer::SignedIn(signed_in) = viewer else { return };
        if self.0.rules.visit.audience == Switch::Off {
            return;
        }
        let (visitor, day) = (signed_in.user, signed_in.day);
        let is_new = |user: &UserId| *user != visitor && !self.0.views.is_done(day, &(*user, visitor));
        let mut users: Vec<UserId> = users.iter().copied().filter(is_new).collect();
        users.sort_unstable();
        users.dedup();
        if let Err(error) = self.try_to_record_views(&users, visitor, day).await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "it could not be noted that somebody looked at a profile");
        }
    }

    async fn try_to_record_views(&self, users: &[UserId], visitor: UserId, day: Day) -> Result<(), Error> {
        let mut batch = Batch::new("audience: record");
        let record = |&user: &UserId| batch.push(audience::record(self.keys(), user, day, visitor));
        let tickets = users.iter().map(record).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        for &user in users {
            self.0.views.note(day, (user, visitor));
        }
        Ok(())
    }

    /// Who looked at the viewer's profile within so many days, today being one of them; `None` if that is not kept.
    /// One round trip, or some if they are very many.
    pub async fn audience(&self, viewer: &Viewer, days: i64) -> Result<Option<Vec<UserId>>, Error> {
        let signed_in = viewer.signed_in()?;
        if self.0.rules.visit.audience == Switch::Off {
            return Ok(None);
        }
        let today = signed_in.day;
        let mut open: Vec<(Day, Shard)> = (0..days).map(|ago| (today.plus(-ago), Shard::ROOT)).collect();
        let mut visitors = Vec::new();
        while !open.is_empty() {
            let now = open.split_off(open.len().saturating_sub(SHARDS_AT_A_TIME));
            let mut batch = Batch::new("audience: read");
            let read = |&(day, shard): &(Day, Shard)| {
                batch.push(audience::read(self.keys(), signed_in.user, day, shard))
            };
            let tickets = now.iter().map(read).collect();
            let found = batch.send(self.store()).await?.take_all(tickets)?;
            for ((day, shard), found) in now.into_iter().zip(found) {
                open.extend(shard.below(found.len()).into_iter().map(|shard| (day, shard)));
                visitors.extend(found.into_iter().filter_map(UserId::new));
            }
        }
        visitors.sort_unstable();
        visitors.dedup();
        Ok(Some(visitors))
    }
}
