//! Writes follows, requests and blocks between two users, which are [`mirrored`](crate::app::mirrored).
//!
//! The truth is in the slot of the user who acts, the mirror in the slot of the other. There are two kinds:
//! - A *follow* has three states: a user follows another, has requested to (if the account is private), or neither. The
//!   mirror is in the followed user's `followers` or `requests`.
//! - A *block* has two; its protocol, which ends the follows between the two users, is in [`block`].
//!
//! What is special about the steps of a follow:
//! - Step 2 also checks the rules. A repeated follow keeps its time.
//! - If step 3 shows that a request is to a public account, it is accepted, if it is still the same one. If the
//!   followee has been deleted, the follow ends.
//! - Step 5 merges the followee's posts into the follower's timeline, if the timeline exists. If step 3 has shown that
//!   the followee's account is inactive, and the follow is not *withheld*, or the other way round, step 5 changes that
//!   in the follower's slot.
//!
//! # Why
//! If posts were merged before the mirror was written, a post published in between would be neither merged nor
//! delivered.
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
use crate::app::mirrored::{Known, Mirrored, Written};
use crate::app::timeline::pull::DueMerge;
use crate::model::clock::Timestamp;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::relation::{FollowState, Side};
use crate::store::batch::Batch;
use crate::store::bucket::Limit;
use crate::store::command::Command;
use crate::store::follow::{self, Ended, Followed, Followee, NewFollow, StoredFollow};
use crate::store::intent::{Intent, Operation};

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

    /// Ends the follow, or the request to follow, of a user who is not to notice, or whom the follower no longer sees:
    /// the follower's timeline is not reset.
    fn end(self, app: &App) -> Command<FollowState> {
        let ended = Ended::Follow { resets: false };
        follow::end(app.keys(), self.follower, self.followee, ended).map(|(state, _)| Ok(state))
    }
}

/// An edge with the last known value of its truth.
pub(super) type SeenEdge = Known<Edge>;

/// A change of a follow's truth, in the follower's slot.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Change {
    /// End the follow, or the request to follow. If `resets`, the end of a follow resets the follower's timeline.
    End {
        /// See above.
        resets: bool,
    },
    /// End only a request.
    EndRequest,
    /// Turn a request into a follow.
    Accept,
}

/// The result of writing follows.
pub(super) struct WrittenFollows {
    /// The outcomes, in the order of the follows.
    pub(super) followed: Vec<Followed>,
    /// Version of the last follower's exclusions; `None` if the user has never had any.
    pub(super) version: Option<Version>,
}

/// What is to be done once the mirror of a follow agrees with its truth.
pub(super) struct Due {
    /// The merge of the followee's posts into the follower's timeline, if both the follow and the timeline exist.
    merge: Option<DueMerge>,
    /// True if the follow must be withheld, false if it must be put back into the follower's lists.
    withhold: Option<bool>,
}

impl Mirrored for Edge {
    type Truth = FollowState;
    type Seen = Followee;
    type Due = Due;

    async fn read(app: &App, edges: Vec<Self>) -> Result<Vec<SeenEdge>, Error> {
        app.read_truths(edges).await
    }

    async fn mirror(app: &App, edges: &[SeenEdge], _: &Deadline<'_>) -> Result<Vec<Followee>, Error> {
        let write = |&(Self { follower, followee }, state): &SeenEdge| {
            follow::mirror(app.keys(), follower, followee, state)
        };
        app.send_all("edge: mirror", edges.iter().map(write)).await
    }

    /// Accepts requests to public accounts, unless they have changed, and ends follows of deleted users. Makes one
    /// round trip; none if there are none.
    async fn correct(
        app: &App,
        written: Vec<Written<Self>>,
        deadline: &Deadline<'_>,
    ) -> Result<(Vec<SeenEdge>, Vec<Written<Self>>), Error> {
        let now = app.now();
        let (mut changes, mut others) = (Vec::new(), Vec::new());
        for written in written {
            let ((edge @ Self { follower, followee }, state), account) = written;
            match (account, state) {
                (Followee::Public, FollowState::Requested(at)) => {
                    changes.push((edge, follow::accept(app.keys(), follower, followee, Some(at), now)));
                }
                (Followee::Deleted, FollowState::Following(_) | FollowState::Requested(_)) => {
                    changes.push((edge, edge.end(app)));
                }
                (Followee::Public | Followee::Private | Followee::Inactive | Followee::Deleted, _) => {
                    others.push(written);
                }
            }
        }
        Ok((app.change_truths("edge: accept", changes, deadline).await?, others))
    }

    async fn read_again(app: &App, written: &[Written<Self>]) -> Result<Vec<(FollowState, Due)>, Error> {
        let mut batch = Batch::new("edge: read truth");
        let read = |&((Self { follower, followee }, mirrored), account): &Written<Self>| {
            let truth = batch.push(follow::read(app.keys(), follower, followee));
            let is_added = matches!(mirrored, FollowState::Following(_)) && account != Followee::Inactive;
            (truth, is_added.then(|| app.floor_of(&mut batch, follower)))
        };
        let tickets: Vec<_> = written.iter().map(read).collect();
        let mut replies = batch.send(app.store()).await?;
        let mut again = Vec::with_capacity(written.len());
        let mut torn = Vec::new();
        for (((edge, mirrored), account), (truth, timeline)) in written.iter().zip(tickets) {
            let StoredFollow { state, is_withheld } = replies.take(truth)?;
            let is_to_be_withheld = *account == Followee::Inactive;
            let is_misplaced = state != FollowState::None && is_withheld != is_to_be_withheld;
            let withhold = is_misplaced.then_some(is_to_be_withheld);
            let timeline = timeline.map(|timeline| replies.take(timeline)).transpose()?.flatten();
            // A follow that is to be put back shows nothing yet: its posts are merged afterwards.
            let timeline = timeline.filter(|_| withhold != Some(false));
            let merge = timeline.map(|view| DueMerge {
                follower: edge.follower,
                followee: edge.followee,
                floor: view.floor,
            });
            again.push((state, Due { merge, withhold }));
            let is_torn = matches!(state, FollowState::Following(_)) && *mirrored != state && !is_withheld;
            torn.extend(is_torn.then_some(*edge));
        }
        app.await_merges(torn).await?;
        Ok(again)
    }

    /// Merges the posts of followed users into their followers' timelines; withholds follows of users whose accounts
    /// are inactive, and puts others back into the followers' lists. Makes two round trips per 100 timelines, and one
    /// if there are such follows.
    async fn follow_up(
        app: &App,
        settled: Vec<(Self, Due)>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SeenEdge>, Error> {
        let (mut added, mut changes) = (Vec::new(), Vec::new());
        for (edge @ Self { follower, followee }, due) in settled {
            added.extend(due.merge);
            let withhold = |is_withheld| follow::withhold(app.keys(), follower, followee, is_withheld);
            changes.extend(due.withhold.map(|is_withheld| (edge, withhold(is_withheld))));
        }
        app.merge_followed(&added).await?;
        app.change_truths("edge: withhold", changes, deadline).await
    }
}

impl App {
    /// Writes follows, running each step for all follows together. With `throttle`, new follows take tokens. Makes five
    /// round trips for any number of follows, plus two whenever another call changes one of the edges concurrently, and
    /// two if an account becomes public.
    pub(super) async fn write_follows(
        &self,
        follows: &[(UserId, NewFollow)],
        throttle: Option<(Limit, Timestamp)>,
    ) -> Result<WrittenFollows, Error> {
        let deadline = self.deadline();
        let edges =
            || follows.iter().map(|&(follower, NewFollow { followee, .. })| Edge { follower, followee });
        let write = async || {
            let written = self.write_truths(follows, throttle).await?;
            let seen = edges().zip(&written.followed);
            let seen = seen.filter_map(|(edge, followed)| Some((edge, followed.state()?))).collect();
            self.mirror_until_equal::<Edge>(seen, &deadline).await?;
            Ok(written)
        };
        self.under_intents(&self.intents(edges().map(Edge::operation)), &deadline, write).await
    }

    /// Runs step 2 of follows, with one script call per run of consecutive follows by the same follower.
    async fn write_truths(
        &self,
        follows: &[(UserId, NewFollow)],
        throttle: Option<(Limit, Timestamp)>,
    ) -> Result<WrittenFollows, Error> {
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
        let mut written = WrittenFollows { followed: Vec::with_capacity(follows.len()), version: None };
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
        let deadline = self.deadline();
        let Edge { follower, followee } = edge;
        let write = async || {
            let write = match change {
                Change::End { resets } => {
                    follow::end(self.keys(), follower, followee, Ended::Follow { resets })
                }
                Change::EndRequest => follow::end(self.keys(), follower, followee, Ended::Request),
                Change::Accept => follow::accept(self.keys(), follower, followee, None, self.now())
                    .map(|state| Ok((state, None))),
            };
            let (state, version) = self.write_sessions(follower, "edge: truth", write).await?;
            self.mirror_until_equal(vec![(edge, state)], &deadline).await?;
            Ok(version)
        };
        self.under_intents(&self.intents([edge.operation()]), &deadline, write).await
    }

    /// Ends follows and requests that may exist, running each step for all of them together. Makes five round trips for
    /// any number of follows, plus two whenever another call changes one of the edges concurrently.
    pub(super) async fn end_follows(&self, edges: Vec<Edge>) -> Result<(), Error> {
        let deadline = self.deadline();
        let intents = self.intents(edges.iter().map(|edge| edge.operation()));
        let end = async || {
            let ends = edges.into_iter().map(|edge| (edge, edge.end(self))).collect();
            let seen = self.change_truths("edge: truth", ends, &deadline).await?;
            self.mirror_until_equal(seen, &deadline).await.map(drop)
        };
        self.under_intents(&intents, &deadline, end).await
    }

    /// Makes the mirrors of these edges equal to their truths, each under an intent of this call. Makes as many round
    /// trips as [`App::end_follows`]; none if there are no edges.
    pub(super) async fn repair_follows(&self, edges: Vec<Edge>) -> Result<(), Error> {
        let intents = self.intents(edges.iter().map(|edge| edge.operation()));
        self.repair_mirrors(edges, &intents, &self.deadline()).await
    }

    /// Makes the mirrors of these edges equal to their truths. The intents carry this process's token, so that an edge
    /// that cannot be repaired leaves a single intent instead of one per round. Hence only the repairer may call this,
    /// which repairs an edge once at a time: another call with the same token would drop the intent of the first.
    pub(super) async fn repair_edges(&self, edges: &[Edge]) -> Result<(), Error> {
        let intent = |edge: &Edge| Intent { operation: edge.operation(), token: self.0.repairer_token };
        let intents: Vec<Intent> = edges.iter().map(intent).collect();
        self.repair_mirrors(edges.to_vec(), &intents, &self.deadline()).await
    }

    /// Changes the truths of edges. Returns the edges with their truths. Makes one round trip; none if there are none.
    async fn change_truths(
        &self,
        step: &'static str,
        changes: Vec<(Edge, Command<FollowState>)>,
        deadline: &Deadline<'_>,
    ) -> Result<Vec<SeenEdge>, Error> {
        if changes.is_empty() {
            return Ok(Vec::new());
        }
        deadline.check()?;
        let (edges, changes): (Vec<Edge>, Vec<_>) = changes.into_iter().unzip();
        let changed = self.send_all(step, changes).await;
        for edge in &edges {
            // Redis may have executed a write that failed.
            self.store().forget_sessions(edge.follower);
        }
        Ok(edges.into_iter().zip(changed?).collect())
    }

    /// Records that the next merges of these follows reset the timelines: this call has removed their mirrors, so
    /// workers may have delivered nothing to the followers, and removed nothing from their timelines. Makes one round
    /// trip; none if there are none.
    async fn await_merges(&self, edges: Vec<Edge>) -> Result<(), Error> {
        if !edges.is_empty() {
            let record = |edge: &Edge| follow::await_merge(self.keys(), edge.follower, edge.followee);
            self.send_all("edge: await merges", edges.iter().map(record)).await?;
        }
        Ok(())
    }

    /// Returns the truth of each of these edges. Makes one round trip.
    pub(super) async fn read_truths(&self, edges: Vec<Edge>) -> Result<Vec<SeenEdge>, Error> {
        let read = |edge: &Edge| follow::read(self.keys(), edge.follower, edge.followee);
        let truths = self.send_all("edge: read truth", edges.iter().map(read)).await?;
        Ok(edges.into_iter().zip(truths).map(|(edge, truth)| (edge, truth.state)).collect())
    }
}
