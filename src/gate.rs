//! A test hook that holds a process between two round trips.
//!
//! A protocol over several slots is a sequence of round trips, and such protocols fail between two of them. A
//! [`Gate`] is called before each round trip is sent and again before its result is returned, and may block
//! there. Tests use it to run the steps of several processes in any order, and to kill a process at any step
//! by dropping it while it is blocked. In production there is no gate, and the cost is one branch.

use futures::future::BoxFuture;

/// A hook that may block at each round trip.
pub trait Gate: Send + Sync {
    /// Called with the batch's name; the batch proceeds when the future completes.
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()>;
}

/// A point in time relative to a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nothing has been sent; a process killed here has done nothing.
    Before,
    /// Redis has executed the batch, or has failed; a process killed here does not know the result. Follows
    /// every `Before`.
    After,
}
