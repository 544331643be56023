//! Countries, their subdivisions and the distribution of users across them, as clients see them.

use async_graphql::{Context, Object, SimpleObject};

use crate::app::error::Error;
use crate::app::region::Share;
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Public, cache_control, list_size};
use crate::graphql::entries::Entries;
use crate::graphql::types::scalar::number;
use crate::model;
use crate::model::region::Table;

/// Predicted number of subdivisions per country. Most countries have fewer, but some have two hundred. The excess is
/// charged to the operation's budget.
const SUBDIVISIONS: usize = 12;

/// An ISO 3166-1 country or territory.
pub(in crate::graphql) struct Country(&'static model::region::Country);

impl Country {
    /// Returns all countries, ordered by code.
    pub(in crate::graphql) fn all() -> Vec<Self> {
        Table::current().countries().into_iter().map(Self).collect()
    }
}

/// An ISO 3166-1 country or territory.
#[Object(directive = cache_control::apply(Public))]
impl Country {
    /// The ISO 3166-1 alpha-2 code: two capital letters, such as DE.
    async fn code(&self) -> &str {
        self.0.code
    }

    /// The country's English name.
    async fn name(&self) -> &str {
        self.0.name
    }

    /// The country's ISO 3166-2 subdivisions, ordered by code; empty if there are none.
    #[graphql(directive = list_size::apply(Some(SUBDIVISIONS), None, None, None))]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn subdivisions(&self, context: &Context<'_>) -> Result<Entries<Subdivision>, Error> {
        let subdivisions = self.0.subdivisions();
        let scope = Scope::of(context);
        Entries::pay(&scope, context, subdivisions.len(), || {
            subdivisions.into_iter().map(Subdivision).collect()
        })
    }
}

/// An ISO 3166-2 subdivision of a country, such as a state, province or district.
pub(in crate::graphql) struct Subdivision(&'static model::region::Subdivision);

/// An ISO 3166-2 subdivision of a country, such as a state, province or district.
#[Object(directive = cache_control::apply(Public))]
impl Subdivision {
    /// The ISO 3166-2 code: the country code, a hyphen and up to three letters or digits, such as DE-BE.
    async fn code(&self) -> &str {
        &self.0.code
    }

    /// The subdivision's local name.
    async fn name(&self) -> &str {
        self.0.name
    }
}

/// A region in a user's profile: a country or one of its subdivisions.
#[derive(Clone, Copy)]
pub(in crate::graphql) struct Region(pub(in crate::graphql) model::region::Region);

/// A region in a user's profile: a country or one of its subdivisions.
#[Object(directive = cache_control::apply(Public))]
impl Region {
    /// The country; the region is the whole country or one of its subdivisions.
    async fn country(&self) -> Country {
        Country(Table::current().country(self.0))
    }

    /// The subdivision; null if the region is the whole country.
    async fn subdivision(&self) -> Option<Subdivision> {
        Table::current().subdivision(self.0).map(Subdivision)
    }
}

/// One region's share of a group of users.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct RegionShare {
    /// The region in these users' profiles; null for users with no region in their profiles.
    region: Option<Region>,
    /// The number of users in this region.
    count: i32,
    /// The region's fraction of all users in the group, from 0 to 1.
    share: f64,
}

impl RegionShare {
    /// Creates a region's share of a sample of `of` users, each of whom represents `weight` users.
    pub(in crate::graphql) fn new(Share { region, count }: Share, of: usize, weight: u64) -> Self {
        Self { region: region.map(Region), count: number(count * weight), share: ratio(count, of) }
    }
}

/// The distribution of a user's followers across countries.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Public))]
pub(in crate::graphql) struct FollowersByRegion {
    /// The countries' shares of the sample, largest first. Each region is a whole country.
    regions: Vec<RegionShare>,
    /// The number of followers sampled: all followers if there are at most 10,000, otherwise 10,000 followers evenly
    /// spaced in the list. Samples are smaller if an operation requests them for many users.
    sampled_count: i32,
    /// The user's total number of followers.
    total_count: i32,
}

impl FollowersByRegion {
    /// Creates a distribution from a sample's shares. Keeps only the first `first` shares.
    pub(in crate::graphql) fn new(shares: Vec<Share>, first: usize, sampled: usize, total: u64) -> Self {
        let share = |share| RegionShare::new(share, sampled, 1);
        Self {
            regions: shares.into_iter().take(first).map(share).collect(),
            sampled_count: number(sampled as u64),
            total_count: number(total),
        }
    }
}

/// Returns the ratio of `count` to `of`; 0 for an empty sample.
#[expect(clippy::cast_precision_loss, reason = "a double is precise enough for a share")]
fn ratio(count: u64, of: usize) -> f64 {
    count as f64 / of.max(1) as f64
}
