//! An invite.

use async_graphql::{Enum, ID, Object};

use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar::{DateTime, number};
use crate::model::clock::Timestamp;
use crate::model::invite;

/// An invite, with which a limited number of users can register.
pub(in crate::graphql) struct Invite {
    invite: invite::Invite,
    state: invite::InviteState,
}

impl Invite {
    pub(in crate::graphql) fn new(invite: invite::Invite, now: Timestamp) -> Self {
        let state = invite.state(now);
        Self { invite, state }
    }
}

/// An invite, with which a limited number of users can register.
#[Object(directive = cache_control::apply(Private))]
impl Invite {
    /// The invite's id, to pass to `revokeInvite`; opaque to clients.
    async fn id(&self) -> ID {
        GlobalId::Invite(self.invite.code).print()
    }

    /// The code that users enter as `RegisterInput.invite`.
    async fn code(&self) -> &str {
        self.invite.code.as_str()
    }

    /// Whether users can register with the invite.
    async fn state(&self) -> InviteState {
        self.state.into()
    }

    /// The maximum number of users who can register with the invite.
    async fn uses(&self) -> i32 {
        number(self.invite.uses.get().into())
    }

    /// The number of users who have registered with the invite, or are registering.
    async fn used(&self) -> i32 {
        number(self.invite.used.into())
    }

    /// The time from which the invite is no longer valid; null if it does not expire.
    async fn expires_at(&self) -> Option<DateTime> {
        self.invite.expires_at.map(DateTime)
    }

    /// The time at which the invite was created.
    async fn created_at(&self) -> DateTime {
        DateTime(self.invite.created_at)
    }

    /// The note of the moderator who created the invite; empty if there is none.
    async fn note(&self) -> &str {
        self.invite.note.as_str()
    }
}

/// Whether users can register with an invite.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
#[graphql(remote = "invite::InviteState")]
pub(in crate::graphql) enum InviteState {
    /// The invite is valid.
    Valid,
    /// The invite has expired.
    Expired,
    /// All uses are taken.
    UsedUp,
}
