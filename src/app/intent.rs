//! Records operations in progress, so that the repairer can finish them if the caller is interrupted.
//!
//! Not here: the format of intents (`store::intent`) and the repairer, which reads them (`app::repair`).

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::store::batch::Batch;
use crate::store::intent::{self, Intent, Operation};

impl App {
    /// Creates an intent for each operation. A random token distinguishes each intent from those of other
    /// calls.
    pub(super) fn intents(&self, operations: impl IntoIterator<Item = Operation>) -> Vec<Intent> {
        operations.into_iter().map(|operation| Intent { operation, token: self.rng().nonce() }).collect()
    }

    /// Performs an operation under these intents, which it drops if the operation succeeds. If it fails or is interrupted,
    /// they stay, and the repairer finishes the operation. Makes two round trips more than the operation.
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
        let mut batch = Batch::new("record intents");
        let record = intent::record(self.keys(), intents, deadline.began());
        let tickets = record.into_iter().map(|command| batch.push(command)).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }

    /// Drops intents. Makes one round trip.
    pub(super) async fn forget(&self, intents: &[Intent]) -> Result<(), Error> {
        let mut batch = Batch::new("drop intents");
        let drop = intent::drop(self.keys(), intents);
        let tickets = drop.into_iter().map(|command| batch.push(command)).collect();
        batch.send(self.store()).await?.take_all(tickets)?;
        Ok(())
    }
}
