//! Calls and scenarios: what is called on a stage, alone or together with others, and the results.

use std::collections::{BTreeMap, BTreeSet};

use fanfold::model::id::PostId;

use crate::harness::edits::Edits;
use crate::harness::screen::Screen;
use crate::harness::stage::Stage;
use crate::harness::turnstile::{self, Actor, Event};
use crate::harness::world::deliver_all;

/// A call, or an event, in the world.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Call {
    /// Publishes, under one of two idempotency keys or none.
    Publish(u64, Option<u8>),
    /// Publishes a post that only followers can see.
    PublishLimited(u64),
    /// Publishes a post that refers to another.
    Refer(Refer),
    /// Reposts the post of this rank among all that exist, oldest first.
    Repost(u64, usize),
    /// Takes the repost of the post of this rank back.
    Undo(u64, usize),
    /// Likes the post of this rank among all that exist, oldest first.
    Like(u64, usize),
    /// Takes the like of the post of this rank back.
    Unlike(u64, usize),
    /// Deletes the user's own post of this rank among those that exist.
    Delete(u64, usize),
    /// Edits the user's own post of this rank, under one of two idempotency keys or none.
    Edit(u64, usize, Option<u8>),
    /// Reads all versions of the user's post of this rank.
    ReadVersions(u64, usize),
    /// Requests the deletion of the post with this id, whether or not it exists.
    DeleteId(u64, u64),
    /// Publishes and is interrupted before the post is visible; the repairer revokes its id. Not beside other calls: a
    /// minute passes.
    Revoke(u64),
    Follow(u64, u64),
    Unfollow(u64, u64),
    Mute(u64, u64),
    Unmute(u64, u64),
    /// Reads the whole timeline, in pages of this size.
    Read(u64, usize),
    /// Runs the waiting deliveries, and takes over those that others have begun.
    Deliver,
    /// The timeline expires.
    Expire(u64),
    /// Archives the waiting posts, and those that other movers have taken.
    Move,
    /// Checks the posts and their lists, and repairs them.
    Check,
    /// Reads all posts of a user, in pages of this size.
    ReadPosts(u64, usize),
    /// The archive becomes unavailable, and recovers.
    Outage,
    /// Changes the user's account.
    Account(AccountChange, u64),
    /// Does the jobs of accounts that are due.
    Work,
    /// Watches the timeline after the last event seen, until no more arrive; the first time, reads it before that.
    Watch(u64),
}

/// A post that refers to another.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Refer {
    pub(crate) user: u64,
    /// Rank of the other post among all that exist, oldest first.
    pub(crate) rank: usize,
    /// True to quote it, false to reply to it.
    pub(crate) quotes: bool,
    /// True for a post that only followers can see.
    pub(crate) is_limited: bool,
}

/// A change of an account.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccountChange {
    Suspend,
    /// Lifts a suspension.
    Lift,
    /// Suspends the user, and deletes the account after some days.
    Delete,
    /// Cancels the deletion.
    Cancel,
    GoPrivate,
    GoPublic,
}

/// Calls that are made one after the other before the others begin, and those that then run together.
#[derive(Clone, Debug)]
pub(crate) struct Scenario {
    pub(crate) before: Vec<Call>,
    pub(crate) together: Vec<Call>,
}

/// The results that callers received.
#[derive(Default)]
pub(crate) struct Results {
    pub(crate) published: Vec<(u64, Option<u8>, PostId)>,
    pub(crate) deleted: Vec<PostId>,
    pub(crate) deletions_requested: BTreeSet<PostId>,
    pub(crate) edits: Edits,
    /// Faults in what users have read.
    pub(crate) wrong: Vec<String>,
    /// The screens of the users who watch.
    pub(crate) screens: BTreeMap<u64, Screen>,
    /// The number of watches that each of them has begun.
    pub(crate) turns: BTreeMap<u64, usize>,
}

impl Stage {
    /// Makes a call, with no other in progress.
    pub(crate) async fn call(&self, call: Call) {
        self.begin(call).await.finish().await;
    }

    /// Makes these calls, and delivers after each.
    pub(crate) async fn calls(&self, calls: &[Call]) {
        for call in calls {
            self.call(*call).await;
            deliver_all(&self.app).await;
        }
    }

    pub(crate) async fn play(&self, scenario: &Scenario, events: &[Event]) {
        self.play_noting(scenario, events, |_, _| ()).await;
    }

    pub(crate) async fn play_noting(
        &self,
        scenario: &Scenario,
        events: &[Event],
        note: impl FnMut(usize, &Actor),
    ) {
        for call in &scenario.before {
            self.call(*call).await;
        }
        let mut actors = Vec::new();
        for call in &scenario.together {
            actors.push(self.begin(*call).await);
        }
        turnstile::play(&self.world, &self.app, actors, events, note).await;
    }
}
