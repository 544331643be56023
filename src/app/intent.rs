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
    pub(super) fn intents(&self, operations: impl Iterator<Item = Operation>) -> Vec<Intent> {
        operations.map(|operation| Intent { operation, token: self.rng().nonce() }).collect()
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
