//! A relation as clients see it.

use std::sync::Arc;

use async_graphql::parser::types::Field;
use async_graphql::resolver_utils::EnumType;
use async_graphql::{Enum, ID, Object};

use crate::app::error::{Error, Rejection};
use crate::graphql::context::Scope;
use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::preloaded::{Json, One, Preloaded, Source, memory, object};
use crate::graphql::types::scalar::DateTime;
use crate::graphql::types::user::User;
use crate::graphql::types::viewer::Viewer;
use crate::model;
use crate::model::clock::Timestamp;
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

/// What a mute hides.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "model::relation::MuteScope")]
pub(in crate::graphql) enum MuteScope {
    /// All posts of the user.
    All,
    /// The user's reposts.
    Reposts,
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

/// The relation between the viewer and another user.
#[Object(directive = cache_control::apply(Private))]
impl Relation {
    /// The relation's id, for caches: it is the same wherever the viewer sees the relation. `node` does not look it up.
    async fn id(&self) -> ID {
        self.global_id()
    }

    /// The viewer, whose counts a change of the relation changes.
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn viewer(&self) -> Result<Viewer, Error> {
        let viewer = self.scope().and_then(Viewer::of);
        viewer.ok_or(Error::Rejected(Rejection::Unauthenticated))
    }

    /// The other user in the relation.
    async fn user(&self) -> One<'_, User> {
        One(&self.user)
    }

    /// The follow state between the viewer and the user.
    async fn status(&self) -> RelationStatus {
        self.state.status().into()
    }

    /// The time at which the viewer followed the user; null if the viewer does not follow the user.
    async fn following_since(&self) -> Option<DateTime> {
        self.state.following_since.map(DateTime)
    }

    /// The time at which the user followed the viewer; null if the user does not follow the viewer.
    async fn follower_since(&self) -> Option<DateTime> {
        self.state.follower_since.map(DateTime)
    }

    /// The time at which the viewer requested to follow the user; null if no request is pending.
    async fn requested_since(&self) -> Option<DateTime> {
        self.state.requested_since.map(DateTime)
    }

    /// The time at which the user requested to follow the viewer; null if no request is pending.
    async fn requester_since(&self) -> Option<DateTime> {
        self.state.requester_since.map(DateTime)
    }

    /// The time at which the viewer blocked the user; null if the viewer does not block the user. The API never shows
    /// that a user blocks the viewer.
    async fn blocked_since(&self) -> Option<DateTime> {
        self.state.blocked_since.map(DateTime)
    }

    /// The time at which the viewer muted the user; null if the viewer does not mute the user.
    async fn muted_since(&self) -> Option<DateTime> {
        self.state.muted_since().map(DateTime)
    }

    /// The time at which the viewer's mute of the user ends; null if the mute has no end, or there is none.
    async fn muted_until(&self) -> Option<DateTime> {
        self.state.muted_until().map(DateTime)
    }

    /// What the viewer's mute of the user hides; null if there is none.
    async fn mute_scope(&self) -> Option<MuteScope> {
        self.state.mute.map(|mute| mute.scope.into())
    }
}

/// Returns the name of an enum's value in the schema.
pub(in crate::graphql) fn name_of<E: EnumType>(value: E) -> Option<&'static str> {
    E::items().iter().find(|item| item.value == value).map(|item| item.name)
}

impl Preloaded for Relation {
    fn source(field: &Field) -> Source<'_, Self> {
        let instant = |instant: fn(&model::relation::Relation) -> Option<Timestamp>| {
            memory(move |relation: &Self, json: &mut Json| match instant(&relation.state) {
                Some(at) => json.scalar(&DateTime(at)),
                None => json.value(&()),
            })
        };
        match field.name.node.as_str() {
            "id" => memory(|relation: &Self, json| json.value(&relation.global_id())),
            "user" => object(field, |relation: &Self| &relation.user),
            "status" => memory(|relation: &Self, json| {
                let status = RelationStatus::from(relation.state.status());
                json.value(&name_of(status)?)
            }),
            "followingSince" => instant(|relation| relation.following_since),
            "followerSince" => instant(|relation| relation.follower_since),
            "requestedSince" => instant(|relation| relation.requested_since),
            "requesterSince" => instant(|relation| relation.requester_since),
            "blockedSince" => instant(|relation| relation.blocked_since),
            "muteScope" => memory(|relation: &Self, json| match relation.state.mute {
                Some(mute) => json.value(&name_of(MuteScope::from(mute.scope))?),
                None => json.value(&()),
            }),
            "mutedSince" => instant(model::relation::Relation::muted_since),
            "mutedUntil" => instant(model::relation::Relation::muted_until),
            _ => Source::Resolver,
        }
    }

    fn scope(&self) -> Option<&Arc<Scope>> {
        self.user.scope()
    }
}
