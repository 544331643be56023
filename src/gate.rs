//! A test hook that blocks a process between two round trips.
//!
//! A protocol over several slots is a sequence of round trips, and can fail between any two of them. The
//! server calls a [`Gate`] before it sends a round trip and again before it returns the result; the gate may
//! block both times. Tests use gates to run the steps of several processes in any order, and to kill a
//! process at any step by dropping it while it is blocked. In production there is no gate, and the cost is
//! one branch.

use futures::future::BoxFuture;

/// A hook that may block at each round trip.
pub trait Gate: Send + Sync {
    /// Returns a future that blocks the named batch until the future completes.
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()>;
}

/// A point in time relative to a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// The batch has not been sent. Killing a process here leaves the batch without any effect.
    Before,
    /// Redis has executed the batch or failed. A process killed here does not know the result. An `After`
    /// follows every `Before`.
    After,
}
