//! Following and ceasing to: how an edge between two slots is written so that nothing tears.
//!
//! An edge stands in two places: in `following` of the follower (the *truth*) and in `followers` of
//! the followed (its *mirror*). Each call goes through these steps:
//! 1. an intent of this very call is recorded;
//! 2. the truth is written, in one step in the follower's slot, the limit checked inside; a repeated
//!    follow keeps its time;
//! 3. the mirror is made what the truth is, time included;
//! 4. the truth is read again; what the followed has posted is merged into the follower's timeline, if
//!    there is one, after every write of the mirror that adds; and while the truth differs from what was
//!    mirrored, 3 and 4 are repeated;
//! 5. the intent of this call is dropped, and no other.
//!
//! # Why
//! Without 1, a call cut off between 2 and 3 leaves a torn edge that nobody looks for. Were the
//! intent shared by calls for the same pair, one call would drop it while the other is in between.
//! Without the time in 3, two calls that cross leave a mirror with another time than the truth.
//! Without 4, a slow call overwrites the mirror of a later one. Were the merge made before the mirror is
//! written, a post published in between would be neither merged nor delivered. And since a repairer
//! writes mirrors too, it does so under an intent of its own: cut off after writing what it saw before
//! others were done, it would leave a torn edge that nobody looks for.

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::{Error, Field, Reason, Refused};
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

/// Two users, one of whom follows the other or may.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) follower: UserId,
    pub(super) followee: UserId,
}

/// What was seen after mirrors were written.
#[derive(Default)]
struct SeenAgain {
    /// Edges whose truth is not what was mirrored.
    differing: Vec<SeenEdge>,
    /// Edges that were added, with the follower's timeline.
    added: Vec<(Edge, View)>,
}

/// An edge as its truth was last seen.
pub(super) type SeenEdge = (Edge, Option<Timestamp>);

/// Somebody who watches how it and others stand, until it is dropped.
pub struct RelationWatch {
    listener: Listener,
    found: BTreeSet<UserId>,
}

impl RelationWatch {
    /// The next one who follows the user now, or is followed by it, or no longer. Several changes of one may be told as
    /// one.
    ///
    /// Refused if some may have been missed.
    pub async fn next(&mut self) -> Result<UserId, Error> {
        loop {
            if let Some(other) = self.found.pop_first() {
                return Ok(other);
            }
            let changes = self.listener.changes().await;
            if changes.has_missed {
                return Err(Error::Refused(Refused::Resync));
            }
            self.found = changes.relations;
        }
    }
}

impl App {
    /// Watches how the user who asks and others stand, from now on.
    pub fn watch_relations(&self, viewer: &Viewer) -> Result<RelationWatch, Error> {
        Ok(RelationWatch { listener: self.listen(viewer)?, found: BTreeSet::new() })
    }

    /// The user who asks follows another. Doing it again changes nothing, not even the time.
    /// Six round trips; two more if it has a timeline.
    pub async fn follow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee).await?;
        let edge = Edge { follower, followee };
        let followed = self.write_follows(&[(edge, self.now())]).await?;
        if followed.contains(&Followed::Refused) {
            let limit = self.0.rules.relation.relation_follow_limit;
            let message = format!("You follow {limit} users already, which is as many as one may follow.");
            return Err(Error::rule(Reason::FollowLimit, None, message));
        }
        Ok(())
    }

    /// The user who asks no longer follows another. Doing it again changes nothing. Six round trips.
    pub async fn unfollow(&self, viewer: &Viewer, followee: UserId) -> Result<(), Error> {
        let follower = viewer.signed_in()?.user;
        self.check_other(follower, followee).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    /// Another user no longer follows the one who asks. Doing it again changes nothing. Six round
    /// trips.
    pub async fn remove_follower(&self, viewer: &Viewer, follower: UserId) -> Result<(), Error> {
        let followee = viewer.signed_in()?.user;
        self.check_other(followee, follower).await?;
        self.write_unfollow(Edge { follower, followee }).await
    }

    async fn check_other(&self, viewer: UserId, other: UserId) -> Result<(), Error> {
        if viewer == other {
            let message = "This is you: one cannot follow or unfollow oneself.";
            return Err(Error::rule(Reason::Oneself, Field::UserId, message));
        }
        let read = user::read(self.keys(), other, UserFields::NONE);
        match read.send("edge: other", self.store()).await? {
            Some(_) => Ok(()),
            None => Err(Error::rule(Reason::NotFound, Field::UserId, "There is no such user.")),
        }
    }

    /// Writes follows, all steps for all of them together: five round trips, however many they are,
    /// and two more for each time somebody else changes one of them meanwhile.
    pub(super) async fn write_follows(&self, follows: &[(Edge, Timestamp)]) -> Result<Vec<Followed>, Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let operation = |&(Edge { follower, followee }, _): &_| Operation::Edge { follower, followee };
        let intents = self.intents(follows.iter().map(operation));
        self.record(&intents, &deadline).await?;

        deadline.check()?;
        let followed = self.write_truths(follows).await?;
        let seen = follows.iter().zip(&followed).filter_map(|((edge, _), followed)| match followed {
            Followed::Added(at) | Followed::Already(at) => Some((*edge, Some(*at))),
            Followed::Refused => None,
        });
        self.mirror_until_equal(seen.collect(), &deadline).await?;
        self.forget(&intents).await?;
        Ok(followed)
    }

    /// Step 2 of follows: one script for each run of follows of the same follower.
    async fn write_truths(&self, follows: &[(Edge, Timestamp)]) -> Result<Vec<Followed>, Error> {
        let mut batch = Batch::new("edge: truth");
        let runs = follows.chunk_by(|(one, _), (next, _)| one.follower == next.follower);
        // A script's arguments must fit its stack.
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

    /// Makes the mirrors of these edges what their truths are now, under intents of its own: whoever
    /// mends is as likely to be cut off as whoever it mends after. They carry the token of this
    /// process, so that an edge that cannot be mended leaves one of them, and not one a round. A
    /// process mends one edge once at a time.
    pub(super) async fn mend_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let intent = |&Edge { follower, followee }: &Edge| Intent {
            operation: Operation::Edge { follower, followee },
            token: self.0.mender,
        };
        let intents: Vec<Intent> = edges.iter().map(intent).collect();
        self.record(&intents, &deadline).await?;
        let seen = self.read_truths(edges.iter().copied()).await?;
        self.mirror_until_equal(seen, &deadline).await?;
        self.forget(&intents).await
    }

    /// Steps 3 and 4, for edges whose truth was seen.
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

    /// What there is after mirrors were written: which truths are other ones now, and how far down the
    /// timelines are complete of those followers who have one and were added. One round trip.
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

    /// The truth of each of these edges. One round trip.
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
