//! Records operations in progress, so that the repairer can finish them if the caller is interrupted.
//!
//! Not here: the format of intents (`store::intent`) and the repairer, which reads them (`app::repair`).

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::store::intent::{self, Intent, Operation};

impl App {
    /// Creates an intent for each operation. A random token distinguishes each intent from those of other
    /// calls.
    pub(super) fn intents(&self, operations: impl IntoIterator<Item = Operation>) -> Vec<Intent> {
        operations.into_iter().map(|operation| Intent { operation, token: self.rng().nonce() }).collect()
    }

    /// Performs an operation under these intents, which it drops if the operation succeeds. If it fails or is
    /// interrupted, they stay, and the repairer finishes the operation. Makes two round trips more than the operation.
    ///
    /// The operation is a closure, because a future that is passed on would be stored twice.
    pub(super) async fn under_intents<T>(
        &self,
        intents: &[Intent],
        deadline: &Deadline<'_>,
        perform: impl AsyncFnOnce() -> Result<T, Error>,
    ) -> Result<T, Error> {
        self.record(intents, deadline).await?;
        deadline.check()?;
        let performed = perform().await?;
        self.forget(intents).await?;
        Ok(performed)
    }

    /// Records intents. Makes one round trip.
    pub(super) async fn record(&self, intents: &[Intent], deadline: &Deadline<'_>) -> Result<(), Error> {
        let record = intent::record(self.keys(), intents, deadline.began());
        self.send_all("record intents", record).await.map(drop)
    }

    /// Drops intents. Makes one round trip.
    pub(super) async fn forget(&self, intents: &[Intent]) -> Result<(), Error> {
        self.send_all("drop intents", intent::drop(self.keys(), intents)).await.map(drop)
    }
}
