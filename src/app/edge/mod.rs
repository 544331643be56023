//! Writes follows, requests and blocks between two users, and keeps the two stored copies of each consistent.
//!
//! Each is stored twice: in the slot of the user who acts (the *truth*), and in the slot of the other (its *mirror*).
//! If they differ, it is *torn*. There are two kinds:
//! - A *follow* has three states: a user follows another, has requested to (if the account is private), or neither. The
//!   mirror is in the followed user's `followers` or `requests`.
//! - A *block* has two; its protocol, which ends the follows between the two users, is in [`block`].
//!
//! Each write of a follow runs these steps:
//! 1. Record an intent specific to this call.
//! 2. Write the truth and check the rules, atomically in the follower's slot. A repeated follow keeps its time.
//! 3. Make the mirror equal to the truth, including the time. If this shows that a request is to a public account,
//!    accept the request, if it is still the same one, and repeat this step. If the followee has been deleted, end the
//!    follow, and repeat this step.
//! 4. Read the truth again. After every write that adds a follow's mirror, merge the followee's posts into the
//!    follower's timeline, if the timeline exists. If step 3 has shown that the followee's account is inactive, and the
//!    follow is not *withheld*, or the other way round, change that in the follower's slot. While the truth differs from
//!    the mirrored value, or this has changed, repeat steps 3 and 4.
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
//!
//! An account may become public after `follow` has read that it is private, and before the mirror of the request is
//! written; the call that makes the account public then finds no request. So the script that writes the mirror returns
//! whether the account is private. A request is accepted by its time: a slow call must not accept a later request, made
//! when the account was private again.
//!
//! An account may become inactive or active at any time ([`crate::app::account`]). Its follows are then repaired one by
//! one. A follow is withheld as the mirror's slot says, and that slot is read again afterwards, so that calls of
//! different times agree on the last state.
//!
#![doc = include_str!("README.md")]

pub(super) mod block;
mod public;

use crate::app::App;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::{FollowState, Side};
use crate::store::batch::Batch;
use crate::store::bucket::Limit;
use crate::store::command::Command;
use crate::store::follow::{self, Followed, Followee, NewFollow, StoredFollow};
use crate::store::intent::{Intent, Operation};
use crate::store::timeline::View;

/// A follow of one user by another, or a request to follow, whether or not it exists.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) struct Edge {
    pub(super) follower: UserId,
    pub(super) followee: UserId,
}

impl Edge {
    /// Returns the edge of an entry in one of a user's lists.
    pub(super) fn of(user: UserId, side: Side, other: UserId) -> Self {
        match side {
            Side::Following | Side::Requesting => Self { follower: user, followee: other },
            Side::Followers | Side::Requests => Self { follower: other, followee: user },
        }
    }

    fn operation(self) -> Operation {
        let Self { follower, followee } = self;
        Operation::Edge { follower, followee }
    }
}

/// An edge with the last known value of its truth.
pub(super) type SeenEdge = (Edge, FollowState);

/// A change of a follow's truth, in the follower's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// End the follow, or the request to follow.
    End,
    /// End only a request.
    EndRequest,
    /// Turn a request into a follow.
    Accept,
}

/// The result of writing follows.
pub(super) struct Written {
    /// The outcomes, in the order of the follows.
    pub(super) followed: Vec<Followed>,
    /// Version of the last follower's exclusions; `None` if the user has never had any.
    pub(super) version: Option<Version>,
}

/// An edge whose mirror has been written, and the followee's account at that time.
type Mirrored = (SeenEdge, Followee);

/// The state read after writing mirrors.
#[derive(Default)]
struct SeenAgain {
    /// Edges whose truth differs from the mirrored value.
    differing: Vec<SeenEdge>,
    /// Edges that must be withheld, or put back into the follower's lists.
    misplaced: Vec<(Edge, bool)>,
    /// Added follows, each with a view of the follower's timeline.
    added: Vec<(Edge, View)>,
}

impl App {
    /// Writes follows, running each step for all follows together. With `throttle`, new follows take tokens. Makes five
    /// round trips for any number of follows, plus two whenever another call changes one of the edges concurrently, and
    /// two if an account becomes public.
    pub(super) async fn write_follows(
        &self,
        follows: &[(UserId, NewFollow)],
        throttle: Option<(Limit, Timestamp)>,
    ) -> Result<Written, Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let edges =
            || follows.iter().map(|&(follower, NewFollow { followee, .. })| Edge { follower, followee });
        let intents = self.intents(edges().map(Edge::operation));
        self.record(&intents, &deadline).await?;

        deadline.check()?;
        let written = self.write_truths(follows, throttle).await?;
        let seen = edges().zip(&written.followed);
        let seen = seen.filter_map(|(edge, followed)| Some((edge, followed.state()?))).collect();
        self.mirror_until_equal(seen, &deadline).await?;
        self.forget(&intents).await?;
        Ok(written)
    }

    /// Runs step 2 of follows, with one script call per run of consecutive follows by the same follower.
    async fn write_truths(
        &self,
        follows: &[(UserId, NewFollow)],
        throttle: Option<(Limit, Timestamp)>,
    ) -> Result<Written, Error> {
        let mut batch = Batch::new("edge: truth");
        let runs =
            follows.chunk_by(|(one, _), (next, _)| one == next).flat_map(|run| run.chunks(follow::MOST));
        let mut write = |run: &[(UserId, NewFollow)]| {
            let follows: Vec<NewFollow> = run.iter().map(|(_, follow)| *follow).collect();
            let limit = self.0.rules.relation.relation_follow_limit;
            batch.push(follow::write(self.keys(), run[0].0, &follows, limit, throttle))
        };
        let runs: Vec<_> = runs.map(|run| (run[0].0, write(run))).collect();
        let sent = batch.send(self.store()).await;
        let mut written = Written { followed: Vec::with_capacity(follows.len()), version: None };
        for (follower, _) in &runs {
            // Redis may have executed a write that failed.
            self.store().forget_sessions(*follower);
        }
        let mut replies = sent?;
        for (_, ticket) in runs {
            let (followed, version) = replies.take(ticket)?;
            written.followed.extend(followed);
            written.version = version;
        }
        Ok(written)
    }

    /// Changes the truth of a follow that may exist, and then its mirror. Returns the version of the follower's
    /// exclusions, if the change may have raised it. Makes five round trips, plus two whenever another call changes the
    /// edge concurrently.
    pub(super) async fn change_follow(&self, edge: Edge, change: Change) -> Result<Option<Version>, Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let Edge { follower, followee } = edge;
        let intents = self.intents(std::iter::once(edge.operation()));
        self.record(&intents, &deadline).await?;

        deadline.check()?;
        let write = match change {
            Change::End => follow::end(self.keys(), follower, followee),
            Change::EndRequest => follow::end_request(self.keys(), follower, followee),
            Change::Accept => follow::accept(self.keys(), follower, followee, None, self.now())
                .map(|state| Ok((state, None))),
        };
        let (state, version) = self.write_sessions(follower, "edge: truth", write).await?;
        self.mirror_until_equal(vec![(edge, state)], &deadline).await?;
        self.forget(&intents).await?;
        Ok(version)
    }

    /// Ends follows and requests that may exist, running each step for all of them together. Makes five round trips for
    /// any number of follows, plus two whenever another call changes one of the edges concurrently.
    pub(super) async fn end_follows(&self, edges: Vec<Edge>) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        let intents = self.intents(edges.iter().map(|edge| edge.operation()));
        self.record(&intents, &deadline).await?;
        let end = |&Edge { follower, followee }: &Edge| {
            follow::end(self.keys(), follower, followee).map(|(state, _)| Ok(state))
        };
        let changes = edges.iter().map(end).collect();
        let seen = self.change_truths("edge: truth", edges, changes, &deadline).await?;
        self.mirror_until_equal(seen, &deadline).await?;
        self.forget(&intents).await
    }

    /// Makes the mirrors of these edges equal to their truths, each under an intent of this call. Makes as many round
    /// trips as [`App::end_follows`]; none if there are no edges.
    pub(super) async fn repair_follows(&self, edges: &[Edge]) -> Result<(), Error> {
        if edges.is_empty() {
            return Ok(());
        }
        self.mirror_edges(edges, &self.intents(edges.iter().map(|edge| edge.operation()))).await
    }

    /// Makes the mirrors of these edges equal to their truths. The intents carry this process's token, so that an edge
    /// that cannot be repaired leaves a single intent instead of one per round. Hence only the repairer may call this,
    /// which repairs an edge once at a time: another call with the same token would drop the intent of the first.
    pub(super) async fn repair_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        let intent = |edge: &Edge| Intent { operation: edge.operation(), token: self.0.repairer_token };
        self.mirror_edges(edges, &edges.iter().map(intent).collect::<Vec<_>>()).await
    }

    /// Makes the mirrors of these edges equal to their truths, under these intents: a caller may be interrupted.
    async fn mirror_edges(&self, edges: &[Edge], intents: &[Intent]) -> Result<(), Error> {
        let deadline = Deadline::start(&*self.0.clock);
        self.record(intents, &deadline).await?;
        let seen = self.read_truths(edges.iter().copied()).await?;
        self.mirror_until_equal(seen, &deadline).await?;
        self.forget(intents).await
    }

    /// Runs steps 3 and 4 for edges, given their last known truths.
    pub(super) async fn mirror_until_equal(
        &self,
        mut edges: Vec<SeenEdge>,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        while !edges.is_empty() {
            deadline.check()?;
            let (changed, mirrored) = self.mirror(edges, deadline).await?;
            edges = changed;
            if mirrored.is_empty() {
                continue;
            }
            let seen = self.read_again(&mirrored).await?;
            self.merge_followed(&seen.added).await?;
            edges.extend(self.withhold(seen.misplaced, deadline).await?);
            edges.extend(seen.differing);
        }
        Ok(())
    }

    /// Runs step 3 once. Returns the follows that it has accepted or ended because of the followee's account, whose
    /// mirrors must be written again; and all other edges. Makes one round trip, plus one if there are such follows.
    async fn mirror(
        &self,
        edges: Vec<SeenEdge>,
        deadline: &Deadline<'_>,
    ) -> Result<(Vec<SeenEdge>, Vec<Mirrored>), Error> {
        let mut batch = Batch::new("edge: mirror");
        let write = |&(Edge { follower, followee }, state): &SeenEdge| {
            batch.push(follow::mirror(self.keys(), follower, followee, state))
        };
        let tickets = edges.iter().map(write).collect();
        let followees = batch.send(self.store()).await?.take_all(tickets)?;
        let is_to_change = |((_, state), followee): &Mirrored| match followee {
            Followee::Public => matches!(state, FollowState::Requested(_)),
            Followee::Deleted => *state != FollowState::None,
            Followee::Private | Followee::Inactive => false,
        };
        let (to_change, mirrored): (Vec<_>, Vec<_>) =
            edges.into_iter().zip(followees).partition(is_to_change);
        Ok((self.accept_or_end(to_change, deadline).await?, mirrored))
    }

    /// Accepts requests to public accounts, unless they have changed, and ends follows of deleted users. Makes one round
    /// trip; none if there are none.
    async fn accept_or_end(
        &self,
        edges: Vec<Mirrored>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SeenEdge>, Error> {
        let now = self.now();
        let change = |&((Edge { follower, followee }, state), account): &Mirrored| match (account, state) {
            (Followee::Deleted, _) => {
                follow::end(self.keys(), follower, followee).map(|(state, _)| Ok(state))
            }
            (_, FollowState::Requested(at)) => follow::accept(self.keys(), follower, followee, Some(at), now),
            (_, _) => follow::accept(self.keys(), follower, followee, None, now),
        };
        let changes = edges.iter().map(change).collect();
        let edges = edges.iter().map(|((edge, _), _)| *edge).collect();
        self.change_truths("edge: accept", edges, changes, deadline).await
    }

    /// Withholds follows of users whose accounts are inactive, and puts others back into the followers' lists. Makes one
    /// round trip; none if there are none.
    async fn withhold(
        &self,
        misplaced: Vec<(Edge, bool)>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SeenEdge>, Error> {
        let change = |&(Edge { follower, followee }, is_withheld): &(Edge, bool)| {
            follow::withhold(self.keys(), follower, followee, is_withheld)
        };
        let changes = misplaced.iter().map(change).collect();
        let edges = misplaced.into_iter().map(|(edge, _)| edge).collect();
        self.change_truths("edge: withhold", edges, changes, deadline).await
    }

    /// Changes the truths of these edges. Makes one round trip; none if there are none.
    async fn change_truths(
        &self,
        step: &'static str,
        edges: Vec<Edge>,
        changes: Vec<Command<FollowState>>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SeenEdge>, Error> {
        if edges.is_empty() {
            return Ok(Vec::new());
        }
        deadline.check()?;
        let mut batch = Batch::new(step);
        let tickets = changes.into_iter().map(|change| batch.push(change)).collect();
        let sent = batch.send(self.store()).await;
        for edge in &edges {
            // Redis may have executed a write that failed.
            self.store().forget_sessions(edge.follower);
        }
        Ok(edges.into_iter().zip(sent?.take_all(tickets)?).collect())
    }

    /// Reads the state after mirrors were written: the truths that have changed, the follows that must be withheld or
    /// put back and, for each added follow whose follower has a timeline, the floor down to which that timeline is
    /// complete. Makes one round trip.
    async fn read_again(&self, edges: &[Mirrored]) -> Result<SeenAgain, Error> {
        let mut batch = Batch::new("edge: read truth");
        let read = |&((Edge { follower, followee }, mirrored), account): &Mirrored| {
            let truth = batch.push(follow::read(self.keys(), follower, followee));
            let is_added = matches!(mirrored, FollowState::Following(_)) && account != Followee::Inactive;
            (truth, is_added.then(|| self.floor_of(&mut batch, follower)))
        };
        let tickets: Vec<_> = edges.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut seen = SeenAgain::default();
        for (&((edge, mirrored), account), (truth, timeline)) in edges.iter().zip(tickets) {
            let StoredFollow { state, is_withheld } = replies.take(truth)?;
            let is_to_be_withheld = account == Followee::Inactive;
            if state != mirrored {
                seen.differing.push((edge, state));
            } else if state != FollowState::None && is_withheld != is_to_be_withheld {
                seen.misplaced.push((edge, is_to_be_withheld));
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
        let read = |edge: Edge| (edge, batch.push(follow::read(self.keys(), edge.follower, edge.followee)));
        let tickets: Vec<_> = edges.map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let (edges, tickets): (Vec<_>, Vec<_>) = tickets.into_iter().unzip();
        let truths = replies.take_all(tickets)?.into_iter().map(|truth| truth.state);
        Ok(edges.into_iter().zip(truths).collect())
    }
}
