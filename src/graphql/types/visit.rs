//! Visits and profile views, as clients see them.

use std::sync::Arc;

use async_graphql::{Object, SimpleObject};

use crate::app::audience::Visitors;
use crate::app::error::Error;
use crate::app::read::{Load as _, Shared};
use crate::app::region::read::Regions;
use crate::app::region::{Share, shares};
use crate::app::visit::history;
use crate::graphql::context::Scope;
use crate::graphql::directive::{
    CacheControlScope::{Private, Public},
    cache_control, list_size, names,
};
use crate::graphql::paging::{DEFAULT_SIZE, page_limit};
use crate::graphql::types::region::{Region, ratio};
use crate::graphql::types::scalar::Date;
use crate::graphql::types::scalar::number;

/// The number of visitors on one day.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct DailyVisits {
    /// The day, in UTC.
    day: Date,
    /// The number of users who sent at least one signed-in request that day; for today, so far.
    unique_visitors: i32,
}

impl From<history::DailyVisits> for DailyVisits {
    fn from(history::DailyVisits { day, unique_visitors }: history::DailyVisits) -> Self {
        Self { day: Date(day), unique_visitors: number(unique_visitors) }
    }
}

/// The users who viewed the viewer's profile within a number of days.
pub(in crate::graphql) struct Audience {
    scope: Arc<Scope>,
    visitors: Visitors,
}

impl Audience {
    pub(in crate::graphql) fn new(scope: Arc<Scope>, visitors: Visitors) -> Self {
        Self { scope, visitors }
    }
}

/// The users who viewed the viewer's profile within a number of days.
#[Object(directive = cache_control::apply(Private))]
impl Audience {
    /// The number of distinct visitors: signed-in users who requested the viewer by id or name, and their username,
    /// displayName, bio, createdAt or region. An estimate above some fifty thousand.
    async fn unique_visitors(&self) -> i32 {
        number(self.visitors.some.len() as u64 * self.visitors.weight)
    }

    /// The current regions of the visitors, the one with most of them first.
    #[graphql(directive = list_size::apply(Some(DEFAULT_SIZE), Some(names(["first"])), None, Some(false)))]
    async fn regions(
        &self,
        #[graphql(desc = "Maximum number of entries. Default 20, limited to 100.", default = 20)]
        first: Option<i32>,
    ) -> Result<Vec<VisitorShare>, Error> {
        let first = page_limit(first)?;
        let regions = self.scope.loader.load(Regions(Shared(Arc::clone(&self.visitors.some)))).await?;
        let share = |Share { region, count }| VisitorShare {
            region: region.map(Region),
            visitors: number(count * self.visitors.weight),
            share: ratio(count, regions.len()),
        };
        Ok(shares(regions.iter().copied()).into_iter().take(first).map(share).collect())
    }
}

/// The number of profile visitors in one region.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Private))]
struct VisitorShare {
    /// The region in the visitors' profiles: a country, or a subdivision of one; null for visitors who have given none.
    region: Option<Region>,
    /// The number of visitors.
    visitors: i32,
    /// The fraction of all visitors, from 0 to 1.
    share: f64,
}
