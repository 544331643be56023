//! What may still be asked for, as a client sees it.

use async_graphql::SimpleObject;

use crate::app::rate_limit;
use crate::graphql::types::scalar::DateTime;

/// The cost that operations of the viewer, or of an anonymous request's address, may still have: 1 for an object and 0.1
/// for any other field, pages within pages multiplied. It comes back with time.
#[derive(SimpleObject)]
pub(in crate::graphql) struct RateLimit {
    /// How much may be asked for at once, when nothing was asked for some time.
    limit: u32,
    /// What this operation costs: at least 1.
    cost: u32,
    /// What is left after this operation.
    remaining: u32,
    /// When all of it will be there again, if nothing more is asked.
    reset_at: DateTime,
}

impl From<rate_limit::RateLimit> for RateLimit {
    fn from(rate_limit: rate_limit::RateLimit) -> Self {
        let rate_limit::RateLimit { limit, cost, remaining, reset_at, .. } = rate_limit;
        Self { limit, cost, remaining, reset_at: DateTime(reset_at) }
    }
}
