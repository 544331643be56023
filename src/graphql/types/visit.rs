//! Visits and profile views, as clients see them.

use std::sync::Arc;

use async_graphql::{Object, SimpleObject};

use crate::app::audience::Visitors;
use crate::app::error::Error;
use crate::app::read::{Load as _, Shared};
use crate::app::region::read::Regions;
use crate::app::region::shares;
use crate::app::visit::history;
use crate::graphql::context::Scope;
use crate::graphql::directive::{
    CacheControlScope::{Private, Public},
    cache_control, list_size, names,
};
use crate::graphql::paging::{DEFAULT_SIZE, page_limit};
use crate::graphql::types::region::RegionShare;
use crate::graphql::types::scalar::Date;
use crate::graphql::types::scalar::number;

/// The number of visitors on one day.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct DailyVisits {
    /// The day, in UTC.
    day: Date,
    /// The number of users who sent at least one signed-in request on this day; for today, the number so far.
    unique_visitors: i32,
}

impl From<history::DailyVisits> for DailyVisits {
    fn from(history::DailyVisits { day, unique_visitors }: history::DailyVisits) -> Self {
        Self { day: Date(day), unique_visitors: number(unique_visitors) }
    }
}

/// Statistics about the users who viewed the signed-in user's profile within the requested number of days.
pub(in crate::graphql) struct Audience {
    scope: Arc<Scope>,
    visitors: Visitors,
}

impl Audience {
    pub(in crate::graphql) fn new(scope: Arc<Scope>, visitors: Visitors) -> Self {
        Self { scope, visitors }
    }
}

/// Statistics about the users who viewed the signed-in user's profile within the requested number of days.
#[Object(directive = cache_control::apply(Private))]
impl Audience {
    /// The number of distinct profile viewers: other signed-in users who looked up this user by id or username and
    /// selected username, displayName, bio, createdAt or region. Numbers above about 50,000 are estimates.
    async fn unique_visitors(&self) -> i32 {
        number(self.visitors.some.len() as u64 * self.visitors.weight)
    }

    /// The profile viewers' current regions, largest share first; null if temporarily unavailable. The counts are
    /// estimates if `uniqueVisitors` is one.
    #[graphql(directive = list_size::apply(Some(DEFAULT_SIZE), Some(names(["first"])), None, Some(false)))]
    async fn regions(
        &self,
        #[graphql(
            desc = "Maximum number of regions. Default 20; values above 100 count as 100.",
            default = 20
        )]
        first: Option<i32>,
    ) -> Option<Result<Vec<RegionShare>, Error>> {
        let Visitors { some, weight, .. } = &self.visitors;
        let regions = self.scope.loader.load(Regions(Shared(Arc::clone(some)))).await;
        Some(regions.map(|regions| {
            let share = |share| RegionShare::new(share, regions.len(), *weight);
            shares(regions.iter().copied()).into_iter().take(page_limit(first)).map(share).collect()
        }))
    }
}
