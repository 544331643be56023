//! Periods of time as clients state them.

use async_graphql::InputObject;

use crate::graphql::types::scalar::DateTime;
use crate::model::clock::Period;

/// A period of time. Either end may be omitted.
#[derive(InputObject)]
pub(in crate::graphql) struct PeriodInput {
    /// The first instant of the period; null if it has no beginning.
    since: Option<DateTime>,
    /// The first instant after the period; null if it has no end.
    until: Option<DateTime>,
}

impl From<PeriodInput> for Period {
    fn from(PeriodInput { since, until }: PeriodInput) -> Self {
        Self { since: since.map(|DateTime(at)| at), until: until.map(|DateTime(at)| at) }
    }
}
