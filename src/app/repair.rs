//! The repairer: finishes what was cut off.
//!
//! It looks at intents that are older than a few seconds and does again what they name, which is
//! harmless if the caller is still alive. It drops an intent, or makes an id void, only when it is
//! so old that its caller can be writing no more ([`crate::app::deadline`]). Every server process
//! runs one; several side by side do no harm.

use std::collections::HashSet;
use std::time::Duration;

use crate::app::App;
use crate::app::deadline::{ABANDONED_AFTER, REPAIRED_AFTER};
use crate::app::error::Error;
use crate::app::relation::Edge;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::user::Username;
use crate::store::intent::{self, Intent, Operation};
use crate::store::key::INTENT_PARTITIONS;
use crate::store::name::{self, Holder};
use crate::store::user;

/// How many intents are looked at together.
const PAGE: usize = 1_000;

/// How often the repairer makes its round.
const ROUND: Duration = REPAIRED_AFTER;

impl App {
    /// Makes the repairer's rounds, until it is dropped.
    pub async fn keep_repairing(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            if let Err(error) = self.repair().await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "a round of the repairer failed; it will try again"
                );
            }
        }
    }

    /// One round: does again what old intents name. Returns how many it looked at.
    pub async fn repair(&self) -> Result<usize, Error> {
        let mut seen = 0;
        for partition in 0..INTENT_PARTITIONS {
            seen += self.repair_partition(partition).await?;
        }
        Ok(seen)
    }

    async fn repair_partition(&self, partition: u32) -> Result<usize, Error> {
        let latest = self.now().minus(REPAIRED_AFTER);
        let (mut seen, mut kept) = (0, 0);
        loop {
            let old = intent::begun_by(self.keys(), partition, latest, kept, PAGE);
            let old = old.send("repair: intents", self.store()).await?;
            let found = old.len();
            let dropped = self.redo(old).await?;
            seen += found;
            kept += found - dropped;
            if found < PAGE {
                return Ok(seen);
            }
        }
    }

    /// Does the operations again and drops those that are abandoned. Returns how many it dropped.
    async fn redo(&self, old: Vec<(Option<Intent>, Timestamp)>) -> Result<usize, Error> {
        let abandoned = self.now().minus(ABANDONED_AFTER);
        let mut edges = HashSet::new();
        let mut done = Vec::new();
        for (intent, began) in old {
            let Some(intent) = intent else {
                tracing::warn!("an unfinished operation is left to the newer version that began it");
                continue;
            };
            let is_abandoned = began <= abandoned;
            match &intent.operation {
                Operation::Edge { follower, followee } => {
                    edges.insert(Edge { follower: *follower, followee: *followee });
                }
                Operation::Name { username, user } if is_abandoned => {
                    self.end_reservation(username, *user).await?;
                }
                Operation::Name { .. } => {}
            }
            if is_abandoned {
                done.push(intent);
            }
        }
        self.mend_edges(&edges.into_iter().collect::<Vec<_>>()).await?;
        self.forget(&done).await?;
        Ok(done.len())
    }

    /// Ends the reservation of a name for an id: settles it if the user exists, else makes the id
    /// void and frees the name. Two round trips.
    pub(super) async fn end_reservation(&self, username: &Username, id: UserId) -> Result<(), Error> {
        let exists = user::void_unless_exists(self.keys(), id).send("repair: void", self.store()).await?;
        let end = if exists {
            name::settle(self.store(), username, id)
        } else {
            name::free(self.store(), username, Holder::Reserved(id))
        };
        end.send("repair: name", self.store()).await?;
        Ok(())
    }
}
