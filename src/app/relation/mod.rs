//! Follows and unfollows users, and keeps the two stored copies of each edge consistent.
//!
//! An edge is stored twice, in different slots: in the follower's `following` list (the *truth*) and in the followee's
//! `followers` list (its *mirror*). An edge whose mirror differs from its truth is *torn*. Each call runs these steps:
//! 1. Record an intent specific to this call.
//! 2. Write the truth and check the follow limit, atomically in the follower's slot. A repeated follow keeps its time.
//! 3. Make the mirror equal to the truth, including the time.
//! 4. Read the truth again. After every write that adds a mirror, merge the followee's posts into the follower's
//!    timeline, if the timeline exists. While the truth differs from the mirrored value, repeat steps 3 and 4.
//! 5. Drop this call's intent, but no other call's intent.
//!
//! # Why
//! Without step 1, a call interrupted between steps 2 and 3 would leave a torn edge that no process would repair. If
//! calls for the same pair shared an intent, one call could drop it while another call was between steps 2 and 3.
//! Without the time in step 3, two racing calls could leave a mirror whose time differs from the truth. Without step 4,
//! a slow call could overwrite the mirror of a later call. If posts were merged before the mirror was written, a post
//! published in between would be neither merged nor delivered. The repairer also writes mirrors under an intent.
//! Without that intent, a repairer that is interrupted after writing a stale mirror, with no other call under way,
//! would leave a torn edge that no process would repair.

pub mod read;

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Error, Field, Reason, Rejection, RuleViolation};
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

const ONESELF: &str = "You cannot follow or unfollow yourself.";

/// The edge from one user to another, whether or not it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) follower: UserId,
    pub(super) followee: UserId,
}

/// The state read after writing mirrors.
#[derive(Default)]
struct SeenAgain {
    /// Edges whose truth differs from the mirrored value.
    differing: Vec<SeenEdge>,
    /// Added edges, each with a view of the follower's timeline.
    added: Vec<(Edge, View)>,
}

/// An edge with the last known value of its truth: the follow's time, or `None` if there is no follow.
pub(super) type SeenEdge = (Edge, Option<Timestamp>);

/// A subscription to changes of a user's relations, which ends when this value is dropped.
pub struct RelationWatch {
    listener: Listener,
    found: BTreeSet<UserId>,
}

impl RelationWatch {
    /// Waits for the next change, and returns the user whose relation to the subscriber changed. Several changes of one
    /// relation may be reported as one.
    ///
    /// Fails with [`Rejection::Resync`] if changes may have been missed.
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
    /// Subscribes to future changes of the viewer's relations.
    pub fn watch_relations(&self, viewer: &Viewer) -> Result<RelationWatch, Error> {
        Ok(RelationWatch { listener: self.listen(viewer)?, found: BTreeSet::new() })
    }

    /// Makes the viewer follow another user. Idempotent; a repeated follow keeps its time. Makes six round trips, plus
    /// two if the viewer has a timeline.
    pub async fn follow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee, ONESELF).await?;
        let edge = Edge { follower, followee };
        let followed = self.write_follows(&[(edge, self.now())]).await?;
        if followed.contains(&Followed::Rejected) {
            let limit = self.0.rules.relation.relation_follow_limit;
            let message = format!("You already follow {limit} users, the maximum.");
            let violation = RuleViolation::new(Reason::FollowLimit, None, message);
            return Err(RuleViolation { limit: usize::try_from(limit).ok(), ..violation }.into());
        }
        Ok(())
    }

    /// Makes the viewer unfollow another user. Idempotent. Makes six round trips.
    pub async fn unfollow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee, ONESELF).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    /// Removes another user from the viewer's followers. Idempotent. Makes six round trips.
    pub async fn remove_follower(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let followee = viewer.signed_in()?.user;
        self.check_other(followee, follower, ONESELF).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    /// Fails if the user named in a relation mutation is the viewer, with the message `oneself`, or does not exist. Makes
    /// one round trip.
    pub(super) async fn check_other(
        &self,
        viewer: UserId,
        other: UserId,
        oneself: &str,
    ) -> Result<(), Error> {
        if viewer == other {
            return Err(Error::rule(Reason::Oneself, Field::UserId, oneself));
        }
        let read = user::read(self.keys(), other, UserFields::NONE);
        match read.send("edge: other", self.store()).await? {
            Some(_) => Ok(()),
            None => Err(Error::rule(Reason::NotFound, Field::UserId, "This user does not exist.")),
        }
    }

    /// Writes follows, running each step for all follows together. Makes five round trips for any number of follows,
    /// plus two whenever another call changes one of the edges concurrently.
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

    /// Runs step 2 of follows, with one script call per run of consecutive follows by the same follower.
    async fn write_truths(&self, follows: &[(Edge, Timestamp)]) -> Result<Vec<Followed>, Error> {
        let mut batch = Batch::new("edge: truth");
        let runs = follows.chunk_by(|(one, _), (next, _)| one.follower == next.follower);
        // A script's arguments must fit on the Lua stack.
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

    /// Makes the mirrors of these edges equal to their truths. Records its own intents, because a repairer may be
    /// interrupted like any other caller. The intents carry this process's token, so that an edge that cannot be
    /// repaired leaves a single intent instead of one per round. A process runs at most one repair of an edge at a
    /// time.
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

    /// Runs steps 3 and 4 for edges, given their last known truths.
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

    /// Reads the state after mirrors were written: the truths that have changed and, for each added edge whose follower
    /// has a timeline, the floor down to which that timeline is complete. Makes one round trip.
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

    /// Returns the truth of each of these edges. Makes one round trip.
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
