//! The charge for an operation, and the bucket's state after the charge.
//!
//! Not here: which bucket is charged, and when (`app::rate_limit`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::store::bucket::{Limit, Taken};

const MINUTE: Duration = Duration::from_mins(1);

/// An operation's cost, and the size and refill rate of the bucket to charge.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// Number of tokens to take.
    pub cost: u32,
    /// Bucket capacity in tokens: the maximum burst.
    pub capacity: u32,
    /// Number of tokens refilled per minute.
    pub per_minute: u32,
}

/// A bucket's state after a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Bucket capacity, in tokens.
    pub limit: u32,
    /// Cost of the operation, in tokens.
    pub cost: u32,
    /// Number of tokens left after the charge.
    pub remaining: u32,
    /// Time at which the bucket will be full, barring further charges.
    pub reset_at: Timestamp,
    /// Time until the bucket has enough tokens for the operation; `None` if it had enough.
    pub wait: Option<Duration>,
}

impl Charge {
    pub(super) fn limit(self) -> Limit {
        Limit { capacity: self.capacity, period: MINUTE * self.capacity / self.per_minute.max(1) }
    }

    pub(super) fn rate_limit(self, taken: Taken, now: Timestamp) -> RateLimit {
        RateLimit {
            limit: self.capacity,
            cost: self.cost,
            remaining: taken.remaining,
            reset_at: now.plus(taken.full_in),
            wait: taken.wait,
        }
    }
}
