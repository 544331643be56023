//! The repairer: finishes interrupted operations.
//!
//! The repairer reads intents older than a few seconds and repeats their operations, which is harmless if the
//! caller is still alive. It drops an intent or revokes an id only once the operation is so old that the
//! caller can no longer write ([`crate::app::deadline`]). Every server process runs a repairer; concurrent
//! repairers are harmless.

use std::collections::HashSet;
use std::time::Duration;

use crate::app::App;
use crate::app::deadline::{ABANDONED_AFTER, REPAIRED_AFTER};
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::user::{UserFields, Username};
use crate::store::batch::Batch;
use crate::store::intent::{self, Intent, Operation};
use crate::store::key::INTENT_PARTITIONS;
use crate::store::name::{self, Holder};
use crate::store::user;

/// Maximum number of intents read from a partition at a time.
const PAGE: usize = 1_000;

/// Interval between repair rounds.
const ROUND: Duration = REPAIRED_AFTER;

/// An intent, and the time at which its operation began. The intent is `None` if only a newer version
/// understands it.
type Noted = (Option<Intent>, Timestamp);

impl App {
    /// Runs repair rounds until dropped.
    pub async fn keep_repairing(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            if let Err(error) = self.repair().await {
                tracing::warn!(error = &error as &dyn std::error::Error, "a repair round failed; retrying");
            }
        }
    }

    /// Runs one repair round, which repeats the operations of old intents. Returns the number of intents and
    /// notes examined. The next round retries operations that could not be repaired; they do not block other
    /// operations.
    pub async fn repair(&self) -> Result<usize, Error> {
        let raised = self.finish_counters().await;
        if let Err(error) = &raised
            && self.gives_up_after(error)
        {
            return raised.map(|()| 0);
        }
        let latest = self.now().minus(REPAIRED_AFTER);
        let mut seen = 0;
        // Partitions left to read, each with the number of intents to skip: those already examined and not
        // dropped.
        let mut open: Vec<(u32, usize)> = (0..INTENT_PARTITIONS).map(|partition| (partition, 0)).collect();
        while !open.is_empty() {
            let pages = self.read_intents(&open, latest).await?;
            let mut rest = Vec::new();
            for ((partition, kept), page) in open.into_iter().zip(pages) {
                let page = match page {
                    Ok(page) => page,
                    Err(error) if self.gives_up_after(&error) => return Err(error),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::warn!(
                            error,
                            partition,
                            "unfinished operations cannot be read; retrying later"
                        );
                        continue;
                    }
                };
                let found = page.len();
                seen += found;
                let dropped = self.redo(page).await?;
                if found == PAGE {
                    rest.push((partition, kept + found - dropped));
                }
            }
            open = rest;
        }
        let settled = self.repair_publishing().await?;
        raised.map(|()| seen + settled)
    }

    /// Returns the intents of several partitions. In a cluster, some may be unavailable.
    async fn read_intents(
        &self,
        open: &[(u32, usize)],
        latest: Timestamp,
    ) -> Result<Vec<Result<Vec<Noted>, Error>>, Error> {
        let mut batch = Batch::new("repair: intents");
        let read = |&(partition, kept): &(u32, usize)| {
            batch.push(intent::begun_by(self.keys(), partition, latest, kept, PAGE))
        };
        let tickets: Vec<_> = open.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        Ok(tickets.into_iter().map(|ticket| replies.take(ticket).map_err(Error::from)).collect())
    }

    /// Repeats operations, and drops the intents of completed operations that are old enough to be abandoned.
    /// Returns the number of dropped intents.
    async fn redo(&self, noted: Vec<Noted>) -> Result<usize, Error> {
        let abandoned = self.now().minus(ABANDONED_AFTER);
        let mut edges = HashSet::new();
        let mut done = Vec::new();
        for (intent, began) in noted {
            let Some(intent) = intent else {
                tracing::warn!("leaving an unfinished operation to the newer version that began it");
                continue;
            };
            let is_abandoned = began <= abandoned;
            let redone = match &intent.operation {
                Operation::Edge { follower, followee } => {
                    edges.insert(Edge { follower: *follower, followee: *followee });
                    Ok(())
                }
                Operation::Block { user, other } => self.repair_block(*user, *other).await,
                Operation::Public { user } => match self.accept_requests(*user).await {
                    // The next round accepts the rest.
                    Ok(false) => continue,
                    accepted => accepted.map(drop),
                },
                Operation::Name { username, user } => self.redo_name(username, *user, is_abandoned).await,
                Operation::Subject { subject, user } => {
                    self.redo_subject(*subject, *user, is_abandoned).await
                }
                Operation::Refer { author, post } => self.redo_referrals(*author, *post).await,
                Operation::Like { user, post } => self.repair_like(*user, *post).await,
                Operation::Delete { author, post } => {
                    self.finish_deletion(*author, *post, is_abandoned).await
                }
            };
            match redone {
                Ok(()) if is_abandoned => done.push(intent),
                Ok(()) => {}
                Err(error) if self.gives_up_after(&error) => return Err(error),
                Err(error) => {
                    let (error, operation) = (&error as &dyn std::error::Error, &intent.operation);
                    tracing::error!(
                        error,
                        ?operation,
                        "an interrupted operation could not be finished; retrying later"
                    );
                }
            }
        }
        let torn = self.repair_all(edges).await?;
        done.retain(|intent| match intent.operation {
            Operation::Edge { follower, followee } => !torn.contains(&Edge { follower, followee }),
            Operation::Block { .. }
            | Operation::Public { .. }
            | Operation::Name { .. }
            | Operation::Subject { .. }
            | Operation::Refer { .. }
            | Operation::Like { .. }
            | Operation::Delete { .. } => true,
        });
        self.forget(&done).await?;
        Ok(done.len())
    }

    /// Finishes a name's registration. If the registration is abandoned, ends the reservation; otherwise,
    /// settles the name if its user exists.
    async fn redo_name(&self, username: &Username, user: UserId, is_abandoned: bool) -> Result<(), Error> {
        if is_abandoned {
            self.end_reservation(username, user).await
        } else {
            self.settle_if_made(username, user).await
        }
    }

    /// Repairs edges, all together or, if that fails, one by one. Returns the edges that could not be
    /// repaired.
    async fn repair_all(&self, edges: HashSet<Edge>) -> Result<HashSet<Edge>, Error> {
        let all: Vec<Edge> = edges.iter().copied().collect();
        match self.repair_edges(&all).await {
            Ok(()) => return Ok(HashSet::new()),
            Err(error) if self.gives_up_after(&error) => return Err(error),
            Err(_) => {}
        }
        let mut torn = HashSet::new();
        for edge in all {
            if let Err(error) = self.repair_edges(&[edge]).await {
                let Edge { follower, followee } = edge;
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, %follower, %followee, "a follow could not be repaired");
                torn.insert(edge);
            }
        }
        Ok(torn)
    }

    /// Returns true if no further operation of the round can be repaired after this error. In a cluster, others' data
    /// may be on masters that are reachable.
    pub(super) fn gives_up_after(&self, error: &Error) -> bool {
        error.is_unreachable() && !self.keys().is_sharded()
    }

    /// Settles a name if its user exists. Makes one round trip, plus one if the user exists.
    async fn settle_if_made(&self, username: &Username, id: UserId) -> Result<(), Error> {
        let user = user::read(self.keys(), id, UserFields::NONE).send("repair: user", self.store()).await?;
        if user.is_some() {
            name::settle(self.keys(), username, id).send("repair: name", self.store()).await?;
        }
        Ok(())
    }

    /// Ends the reservation of a name for an id: settles the name if the user exists; otherwise, revokes the
    /// id and frees the name. Makes two round trips.
    pub(super) async fn end_reservation(&self, username: &Username, id: UserId) -> Result<(), Error> {
        let exists = user::revoke_unless_exists(self.keys(), id, self.now())
            .send("repair: revoke", self.store())
            .await?;
        let end = if exists {
            name::settle(self.keys(), username, id)
        } else {
            name::free(self.keys(), username, Holder::Reserved(id))
        };
        end.send("repair: name", self.store()).await?;
        Ok(())
    }
}
