//! Following and unfollowing: writing an edge that spans two slots without tearing it.
//!
//! An edge is stored twice: in `following` of the follower (the *truth*) and in `followers` of the followee
//! (its *mirror*). Each call runs these steps:
//! 1. Record an intent of this call.
//! 2. Write the truth, atomically in the follower's slot, including the check of the limit. Repeating a follow
//!    keeps its time.
//! 3. Make the mirror equal to the truth, including the time.
//! 4. Read the truth again. After every write that adds a mirror, merge the followee's posts into the follower's
//!    timeline, if it exists. While the truth differs from what was mirrored, repeat 3 and 4.
//! 5. Drop the intent of this call, and no other.
//!
//! # Why
//! Without 1, a call interrupted between 2 and 3 leaves a torn edge that no process repairs. If calls for the
//! same pair shared an intent, one call would drop it while another is between 2 and 3. Without the time in
//! 3, two racing calls leave a mirror whose time differs from the truth. Without 4, a slow call overwrites
//! the mirror of a later one. If posts were merged before the mirror is written, a post published in between
//! would be neither merged nor delivered. The repairer writes mirrors too, under an intent of its own: if it
//! were interrupted after writing a stale mirror, after all other calls have finished, it would leave a torn
//! edge that no process repairs.

pub mod read;

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Error, Field, Reason, Rejection};
use crate::app::live::Listener;
use crate::app::viewer::Viewer;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::Side;
use crate::model::user::UserFields;
use crate::store::batch::Batch;
use crate::store::intent::{Intent, Operation};
use crate::store::relation::{self, Followed};
use crate::store::timeline::View;
use crate::store::user;

/// The edge between two users, existing or not.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) follower: UserId,
    pub(super) followee: UserId,
}

/// The state read after mirrors were written.
#[derive(Default)]
struct SeenAgain {
    /// Edges whose truth differs from what was mirrored.
    differing: Vec<SeenEdge>,
    /// Edges that were added, with the follower's timeline.
    added: Vec<(Edge, View)>,
}

/// An edge with the last value read of its truth.
pub(super) type SeenEdge = (Edge, Option<Timestamp>);

/// A subscription to changes of a user's relations, until dropped.
pub struct RelationWatch {
    listener: Listener,
    found: BTreeSet<UserId>,
}

impl RelationWatch {
    /// Returns the next user who now follows this user, or is followed by them, or no longer so. Several
    /// changes of one relation may be reported as one.
    ///
    /// Rejected if changes may have been missed.
    pub async fn next(&mut self) -> Result<UserId, Error> {
        loop {
            if let Some(other) = self.found.pop_first() {
                return Ok(other);
            }
            let changes = self.listener.changes().await;
            if changes.has_missed {
                return Err(Error::Rejected(Rejection::Resync));
            }
            self.found = changes.relations;
        }
    }
}

impl App {
    /// Subscribes to changes of the viewer's relations, from now on.
    pub fn watch_relations(&self, viewer: &Viewer) -> Result<RelationWatch, Error> {
        Ok(RelationWatch { listener: self.listen(viewer)?, found: BTreeSet::new() })
    }

    /// Makes the viewer follow another user. Idempotent; a repeated follow keeps its time. Six round trips;
    /// two more if the viewer has a timeline.
    pub async fn follow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee).await?;
        let edge = Edge { follower, followee };
        let followed = self.write_follows(&[(edge, self.now())]).await?;
        if followed.contains(&Followed::Rejected) {
            let limit = self.0.rules.relation.relation_follow_limit;
            let message = format!("You already follow {limit} users, the maximum.");
            return Err(Error::rule(Reason::FollowLimit, None, message));
        }
        Ok(())
    }

    /// Makes the viewer unfollow another user. Idempotent. Six round trips.
    pub async fn unfollow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    /// Removes another user from the viewer's followers. Idempotent. Six round trips.
    pub async fn remove_follower(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let followee = viewer.signed_in()?.user;
        self.check_other(followee, follower).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    async fn check_other(&self, viewer: UserId, other: UserId) -> Result<(), Error> {
        if viewer == other {
            let message = "You cannot follow or unfollow yourself.";
            return Err(Error::rule(Reason::Oneself, Field::UserId, message));
        }
        let read = user::read(self.keys(), other, UserFields::NONE);
        match read.send("edge: other", self.store()).await? {
            Some(_) => Ok(()),
            None => Err(Error::rule(Reason::NotFound, Field::UserId, "This user does not exist.")),
        }
    }

    /// Writes follows, each step for all of them together: five round trips for any number of them, plus two
    /// whenever another call changes one of them concurrently.
    pub(super) async fn write_follows(&self, follows: &[(Edge, Timestamp)]) -> Result<Vec<Followed>, Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let operation = |&(Edge { follower, followee }, _): &_| Operation::Edge { follower, followee };
        let intents = self.intents(follows.iter().map(operation));
        self.record(&intents, &deadline).await?;

        deadline.check()?;
        let followed = self.write_truths(follows).await?;
        let seen = follows.iter().zip(&followed).filter_map(|((edge, _), followed)| match followed {
            Followed::Added(at) | Followed::Already(at) => Some((*edge, Some(*at))),
            Followed::Rejected => None,
        });
        self.mirror_until_equal(seen.collect(), &deadline).await?;
        self.forget(&intents).await?;
        Ok(followed)
    }

    /// Runs step 2 of follows: one script for each run of follows of the same follower.
    async fn write_truths(&self, follows: &[(Edge, Timestamp)]) -> Result<Vec<Followed>, Error> {
        let mut batch = Batch::new("edge: truth");
        let runs = follows.chunk_by(|(one, _), (next, _)| one.follower == next.follower);
        // The arguments of a script must fit its stack.
        let runs = runs.flat_map(|run| run.chunks(relation::PROBE));
        let write = |run: &[(Edge, Timestamp)]| {
            let others: Vec<_> = run.iter().map(|(edge, at)| (edge.followee, *at)).collect();
            let limit = self.0.rules.relation.relation_follow_limit;
            batch.push(relation::write_following(self.keys(), run[0].0.follower, &others, limit))
        };
        let tickets = runs.map(write).collect();
        Ok(batch.send(self.store()).await?.take_all(tickets)?.concat())
    }

    async fn write_unfollow(&self, edge: Edge) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let Edge { follower, followee } = edge;
        let intents = self.intents(std::iter::once(Operation::Edge { follower, followee }));
        self.record(&intents, &deadline).await?;

        deadline.check()?;
        let erase = relation::remove(self.keys(), follower, Side::Following, followee);
        erase.send("edge: truth", self.store()).await?;
        self.mirror_until_equal(vec![(edge, None)], &deadline).await?;
        self.forget(&intents).await
    }

    /// Makes the mirrors of these edges equal to their truths, under intents of its own: a repairer is as
    /// likely to be interrupted as any other caller. The intents carry the token of this process, so that an
    /// edge that cannot be repaired leaves a single intent instead of one per round. A process runs at most
    /// one repair of an edge at a time.
    pub(super) async fn repair_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let intent = |&Edge { follower, followee }: &Edge| Intent {
            operation: Operation::Edge { follower, followee },
            token: self.0.repairer_token,
        };
        let intents: Vec<Intent> = edges.iter().map(intent).collect();
        self.record(&intents, &deadline).await?;
        let seen = self.read_truths(edges.iter().copied()).await?;
        self.mirror_until_equal(seen, &deadline).await?;
        self.forget(&intents).await
    }

    /// Runs steps 3 and 4 for edges whose truth was read.
    async fn mirror_until_equal(
        &self,
        mut edges: Vec<SeenEdge>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        while !edges.is_empty() {
            deadline.check()?;
            let mut batch = Batch::new("edge: mirror");
            let write = |&(Edge { follower, followee }, truth): &SeenEdge| {
                batch.push(match truth {
                    Some(at) => relation::put(self.keys(), followee, Side::Followers, follower, at),
                    None => relation::remove(self.keys(), followee, Side::Followers, follower),
                })
            };
            let tickets = edges.iter().map(write).collect();
            batch.send(self.store()).await?.take_all(tickets)?;

            let seen = self.read_again(&edges).await?;
            self.merge_followed(&seen.added).await?;
            edges = seen.differing;
        }
        Ok(())
    }

    /// Reads the state after mirrors were written: truths that have changed, and for followers of added edges
    /// who have a timeline, the floor down to which it is complete. One round trip.
    async fn read_again(&self, edges: &[SeenEdge]) -> Result<SeenAgain, Error> {
        let mut batch = Batch::new("edge: read truth");
        let read = |&(Edge { follower, followee }, mirrored): &SeenEdge| {
            let truth = batch.push(relation::time(self.keys(), follower, Side::Following, followee));
            (truth, mirrored.map(|_| self.floor_of(&mut batch, follower)))
        };
        let tickets: Vec<_> = edges.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut seen = SeenAgain::default();
        for (&(edge, mirrored), (truth, timeline)) in edges.iter().zip(tickets) {
            let truth = replies.take(truth)?;
            if truth != mirrored {
                seen.differing.push((edge, truth));
            }
            if let Some(view) = timeline.map(|timeline| replies.take(timeline)).transpose()?.flatten() {
                seen.added.push((edge, view));
            }
        }
        Ok(seen)
    }

    /// Returns the truth of each of these edges. One round trip.
    pub(super) async fn read_truths(
        &self,
        edges: impl Iterator<Item = Edge>,
    ) -> Result<Vec<SeenEdge>, Error> {
        let mut batch = Batch::new("edge: read truth");
        let read = |edge: Edge| {
            let time = relation::time(self.keys(), edge.follower, Side::Following, edge.followee);
            (edge, batch.push(time))
        };
        let tickets: Vec<_> = edges.map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let take = |(edge, ticket)| Ok((edge, replies.take(ticket)?));
        tickets.into_iter().map(take).collect()
    }
}
