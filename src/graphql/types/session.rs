//! A session as its user sees it.

use async_graphql::{ID, Object};

use crate::graphql::directive::{CacheControlScope::Private, cache_control};
use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar::DateTime;
use crate::model;

/// One of the viewer's sessions: a sign-in on one device.
pub(in crate::graphql) struct Session {
    pub(in crate::graphql) session: model::session::Session,
    pub(in crate::graphql) is_current: bool,
}

/// One of the viewer's sessions: a sign-in on one device.
#[Object(directive = cache_control::apply(Private))]
impl Session {
    /// The session's id, to pass to `revokeSession`; opaque to clients.
    async fn id(&self) -> ID {
        GlobalId::Session(self.session.id).print()
    }

    /// The time of sign-in.
    async fn created_at(&self) -> DateTime {
        DateTime(self.session.created_at)
    }

    /// The time at which the session was last used, accurate to five minutes.
    async fn last_seen_at(&self) -> DateTime {
        DateTime(self.session.last_seen_at)
    }

    /// The label that the client gave at sign-in; empty if it gave no label.
    async fn label(&self) -> &str {
        self.session.label.as_str()
    }

    /// True if this is the session that sent the request; false for all sessions if the token of another application
    /// did.
    async fn is_current(&self) -> bool {
        self.is_current
    }
}
