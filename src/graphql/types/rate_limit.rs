//! The rate limit, as clients see it.

use async_graphql::SimpleObject;

use crate::app::charge;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::types::scalar::DateTime;

/// The rate limit of the viewer or, for an anonymous request, of the client's IP address: a token bucket that refills
/// over time. An operation costs 1 token per object and 0.1 tokens per other field. The sizes of nested pages are
/// multiplied.
#[derive(SimpleObject)]
#[graphql(directive = cache_control::apply(Private))]
pub(in crate::graphql) struct RateLimit {
    /// The bucket's capacity, in tokens. It limits the total cost of a burst of operations.
    limit: u32,
    /// The cost of this operation, in tokens; at least 1.
    cost: u32,
    /// The number of tokens left after this operation.
    remaining: u32,
    /// The time at which the bucket will be full if the client sends no further operations.
    reset_at: DateTime,
}

impl From<charge::RateLimit> for RateLimit {
    fn from(rate_limit: charge::RateLimit) -> Self {
        let charge::RateLimit { limit, cost, remaining, reset_at, .. } = rate_limit;
        Self { limit, cost, remaining, reset_at: DateTime(reset_at) }
    }
}
