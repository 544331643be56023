//! A place to hold a process between two round trips.
//!
//! A protocol over several slots is a sequence of round trips, and what can happen between two of
//! them is where such protocols go wrong. A [`Gate`] sees each round trip before it is sent and
//! again before its answer is handed on, and may wait there: a test uses it to run the steps of
//! several processes in any order it likes, and to cut a process off at any of them, by dropping
//! it while it waits. In production there is none, and it costs a branch.

use futures::future::BoxFuture;

/// What may wait at each round trip.
pub trait Gate: Send + Sync {
    /// Called with the batch's name; the batch goes on when the future is done.
    fn pass(&self, moment: Moment, batch: &'static str) -> BoxFuture<'_, ()>;
}

/// On which side of a round trip.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Moment {
    /// Nothing is sent yet: who is cut off here has done nothing.
    Before,
    /// Redis has done the work, or has failed: who is cut off here does not know it. Follows every `Before`.
    After,
}
