//! Who came and who looked, as clients see it.

use std::sync::Arc;

use async_graphql::{Object, SimpleObject};

use crate::app::audience::Visitors;
use crate::app::error::Error;
use crate::app::region::{Share, shares};
use crate::app::visit::history;
use crate::graphql::connection::most;
use crate::graphql::context::Scope;
use crate::graphql::types::connection::number;
use crate::graphql::types::region::{Region, ratio};
use crate::graphql::types::scalar::Date;

/// How many users came on a day.
#[derive(SimpleObject)]
pub(in crate::graphql) struct DailyVisits {
    /// The day, in UTC.
    day: Date,
    /// How many users made at least one request that day, signed in; on the present day, how many so far.
    unique_visitors: i32,
}

impl From<history::DailyVisits> for DailyVisits {
    fn from(history::DailyVisits { day, unique_visitors }: history::DailyVisits) -> Self {
        Self { day: Date(day), unique_visitors: number(unique_visitors) }
    }
}

/// Who looked at the viewer's profile within some days.
pub(in crate::graphql) struct Audience {
    scope: Arc<Scope>,
    visitors: Visitors,
}

impl Audience {
    pub(in crate::graphql) fn new(scope: Arc<Scope>, visitors: Visitors) -> Self {
        Self { scope, visitors }
    }
}

/// Who looked at the viewer's profile within some days.
#[Object]
impl Audience {
    /// How many users looked at it, each counted once: who asked for the viewer by id or name, signed in, and for its
    /// username, displayName, bio, createdAt or region. An estimate beyond some fifty thousand.
    async fn unique_visitors(&self) -> i32 {
        number(self.visitors.some.len() as u64 * self.visitors.weight)
    }

    /// Where they are now, the region with most of them first.
    async fn regions(
        &self,
        #[graphql(desc = "At most this many. Default 20, at most 100.", default = 20)] first: Option<i32>,
    ) -> Result<Vec<VisitorShare>, Error> {
        let first = most(first)?;
        let regions = self.scope.loader.regions(Arc::clone(&self.visitors.some)).await?;
        let share = |Share { region, count }| VisitorShare {
            region: region.map(Region),
            visitors: number(count * self.visitors.weight),
            share: ratio(count, regions.len()),
        };
        Ok(shares(regions.iter().copied()).into_iter().take(first).map(share).collect())
    }
}

/// How many of those who looked at a profile are in a region.
#[derive(SimpleObject)]
struct VisitorShare {
    /// The region, as they gave it: a country, or a subdivision of one; null for those who gave none.
    region: Option<Region>,
    /// How many of them are there.
    visitors: i32,
    /// Their share of all of them, from 0 to 1.
    share: f64,
}
