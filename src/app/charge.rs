//! The charge for an operation, and the state of the bucket after it.
//!
//! Not here: who is charged, and when (`app::rate_limit`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::store::bucket::{Limit, Taken};

const MINUTE: Duration = Duration::from_mins(1);

/// The cost of an operation, and the bucket it is taken from.
#[derive(Clone, Copy, Debug)]
pub struct Charge {
    /// Tokens to take.
    pub cost: u32,
    /// Capacity of the bucket: the maximum burst.
    pub capacity: u32,
    /// Tokens refilled per minute.
    pub per_minute: u32,
}

/// The state of a bucket after a charge.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RateLimit {
    /// Capacity of the bucket.
    pub limit: u32,
    /// Cost of the operation.
    pub cost: u32,
    /// Tokens left after the charge.
    pub remaining: u32,
    /// Time at which the bucket is full again, without further charges.
    pub reset_at: Timestamp,
    /// Time to wait before the operation can be executed; `None` if it can be now.
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
