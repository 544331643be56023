//! A relation as clients see it.

use async_graphql::{Enum, ID};

use crate::app::error::{Error, Rejection};
use crate::graphql::id::GlobalId;
use crate::graphql::preloaded::{Json, Leaf, Preloaded, fields, name_of};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::graphql::types::viewer::Viewer;
use crate::model;
use crate::model::id::UserId;

/// The follow state between the viewer and another user.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "model::relation::Status")]
pub(in crate::graphql) enum RelationStatus {
    /// Neither the viewer nor the user follows the other.
    None,
    /// The viewer follows the user, who does not follow back.
    Following,
    /// The user follows the viewer, who does not follow back.
    Follower,
    /// The viewer and the user follow each other.
    Mutual,
}

impl Leaf for RelationStatus {
    fn write(self, json: &mut Json) -> Option<()> {
        json.value(&name_of(self)?)
    }
}

/// What a mute hides.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "model::relation::MuteScope")]
pub(in crate::graphql) enum MuteScope {
    /// All posts of the user.
    All,
    /// The user's reposts.
    Reposts,
}

impl Leaf for MuteScope {
    fn write(self, json: &mut Json) -> Option<()> {
        json.value(&name_of(self)?)
    }
}

/// The relation between the viewer and another user.
pub(in crate::graphql) struct Relation {
    viewer: UserId,
    user: User,
    state: model::relation::Relation,
}

impl Relation {
    pub(in crate::graphql) fn new(viewer: UserId, user: User, state: model::relation::Relation) -> Self {
        Self { viewer, user, state }
    }

    fn global_id(&self) -> ID {
        GlobalId::Relation { viewer: self.viewer, user: self.user.user_id() }.print()
    }
}

fields! {
    /// The relation between the viewer and another user.
    impl Relation, Private, |relation| relation.user.scope();

    /// The relation's id, for caches: it is the same wherever the viewer sees the relation. `node` does not look it up.
    value id "id": ID = |relation| relation.global_id();
    resolver "nothing of a viewer is in memory" {
        /// The viewer, whose counts a change of the relation changes.
        #[expect(clippy::unused_async, reason = "the library requires it")]
        async fn viewer(&self) -> Result<Viewer, Error> {
            let viewer = Preloaded::scope(self).and_then(Viewer::of);
            viewer.ok_or(Error::Rejected(Rejection::Unauthenticated))
        }
    }
    /// The other user in the relation.
    object user "user": User = |relation| &relation.user;
    /// The follow state between the viewer and the user.
    value status "status": RelationStatus = |relation| relation.state.status().into();
    /// The time at which the viewer followed the user; null if the viewer does not follow the user.
    value following_since "followingSince": Option<DateTime> = |relation| relation.state.following_since.map(DateTime);
    /// The time at which the user followed the viewer; null if the user does not follow the viewer.
    value follower_since "followerSince": Option<DateTime> = |relation| relation.state.follower_since.map(DateTime);
    /// The time at which the viewer requested to follow the user; null if no request is pending.
    value requested_since "requestedSince": Option<DateTime> = |relation| relation.state.requested_since.map(DateTime);
    /// The time at which the user requested to follow the viewer; null if no request is pending.
    value requester_since "requesterSince": Option<DateTime> = |relation| relation.state.requester_since.map(DateTime);
    /// The time at which the viewer blocked the user; null if the viewer does not block the user. The API never shows
    /// that a user blocks the viewer.
    value blocked_since "blockedSince": Option<DateTime> = |relation| relation.state.blocked_since.map(DateTime);
    /// The time at which the viewer muted the user; null if the viewer does not mute the user.
    value muted_since "mutedSince": Option<DateTime> = |relation| relation.state.muted_since().map(DateTime);
    /// The time at which the viewer's mute of the user ends; null if the mute has no end, or there is none.
    value muted_until "mutedUntil": Option<DateTime> = |relation| relation.state.muted_until().map(DateTime);
    /// What the viewer's mute of the user hides; null if there is none.
    value mute_scope "muteScope": Option<MuteScope> = |relation| relation.state.mute.map(|mute| mute.scope.into());
}
