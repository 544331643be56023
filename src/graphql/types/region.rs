//! Countries and their subdivisions, and how many users are where, as clients see them.

use async_graphql::{Context, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::region::Share;
use crate::budget::Resource;
use crate::graphql::context::Scope;
use crate::graphql::document::cost::SUBDIVISIONS;
use crate::graphql::types::connection::number;
use crate::model;
use crate::model::region::Table;

/// A country or territory of ISO 3166-1.
pub(in crate::graphql) struct Country(&'static model::region::Country);

impl Country {
    /// All that there are, by code.
    pub(in crate::graphql) fn all() -> Vec<Self> {
        Table::current().countries().into_iter().map(Self).collect()
    }
}

/// A country or territory of ISO 3166-1.
#[Object]
impl Country {
    /// Two capital letters, such as DE.
    async fn code(&self) -> &str {
        self.0.code
    }

    /// Its name in English.
    async fn name(&self) -> &str {
        self.0.name
    }

    /// Its subdivisions after ISO 3166-2, by code; empty if it has none.
    #[expect(clippy::unused_async, reason = "the library wants it so")]
    async fn subdivisions(&self, context: &Context<'_>) -> Result<Vec<Subdivision>, Error> {
        let subdivisions = self.0.subdivisions();
        let unpredicted = (subdivisions.len() as u64).saturating_sub(SUBDIVISIONS);
        // Writing two fields takes the server as long as a command takes Redis.
        let fields = context.field().selection_set().count() as u64;
        Scope::of(context).budget().spend(Resource::Commands, unpredicted * (2 + fields) / 2)?;
        Ok(subdivisions.into_iter().map(Subdivision).collect())
    }
}

/// A subdivision of a country after ISO 3166-2: a state, a province, a district.
pub(in crate::graphql) struct Subdivision(&'static model::region::Subdivision);

/// A subdivision of a country after ISO 3166-2: a state, a province, a district.
#[Object]
impl Subdivision {
    /// The code of the country, a hyphen and up to three letters or digits, such as DE-BE.
    async fn code(&self) -> &str {
        &self.0.code
    }

    /// Its name as it is used there.
    async fn name(&self) -> &str {
        self.0.name
    }
}

/// Where a user says that it is.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct Region(pub(in crate::graphql) model::region::Region);

/// Where a user says that it is.
#[Object]
impl Region {
    /// The country.
    async fn country(&self) -> Country {
        Country(Table::current().country(self.0))
    }

    /// The subdivision of the country; null if no single one is meant.
    async fn subdivision(&self) -> Option<Subdivision> {
        Table::current().subdivision(self.0).map(Subdivision)
    }
}

/// How many of a user's followers are in a country.
#[derive(SimpleObject)]
pub(in crate::graphql) struct RegionShare {
    /// The country, without a subdivision; null for those who do not say where they are.
    region: Option<Region>,
    /// How many of those who were looked at are there.
    count: i32,
    /// Their share of those who were looked at, from 0 to 1.
    share: f64,
}

impl RegionShare {
    fn new(Share { region, count }: Share, of: usize) -> Self {
        Self { region: region.map(Region), count: number(count), share: ratio(count, of) }
    }
}

/// Where a user's followers are.
#[derive(SimpleObject)]
pub(in crate::graphql) struct FollowersByRegion {
    /// The countries, the one with most followers first.
    shares: Vec<RegionShare>,
    /// How many followers were looked at: all of them up to 10,000, and 10,000 taken evenly from more; fewer if it is
    /// asked of many users at once.
    sampled: i32,
    /// How many followers there are.
    total: i32,
}

impl FollowersByRegion {
    /// The first so many of these shares of so many followers.
    pub(in crate::graphql) fn new(shares: Vec<Share>, first: usize, sampled: usize, total: u64) -> Self {
        let share = |share| RegionShare::new(share, sampled);
        Self {
            shares: shares.into_iter().take(first).map(share).collect(),
            sampled: number(sampled as u64),
            total: number(total),
        }
    }
}

/// How many of so many.
#[expect(clippy::cast_precision_loss, reason = "a share need not be more exact than a double is")]
pub(in crate::graphql) fn ratio(count: u64, of: usize) -> f64 {
    count as f64 / of.max(1) as f64
}
