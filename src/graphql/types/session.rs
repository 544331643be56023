//! A session as its user sees it.

use async_graphql::{ID, Object};

use crate::graphql::id::GlobalId;
use crate::graphql::types::scalar::DateTime;
use crate::model;

/// A sign-in of the viewer on some device.
pub(in crate::graphql) struct Session {
    pub(in crate::graphql) session: model::session::Session,
    pub(in crate::graphql) is_current: bool,
}

/// A sign-in of the viewer on some device.
#[Object]
impl Session {
    /// For `revokeSession`; opaque to clients.
    async fn id(&self) -> ID {
        GlobalId::Session(self.session.id).print()
    }

    /// When the viewer signed in.
    async fn created_at(&self) -> DateTime {
        DateTime(self.session.created_at)
    }

    /// When the session was last used, to within five minutes.
    async fn last_seen_at(&self) -> DateTime {
        DateTime(self.session.last_seen_at)
    }

    /// What the client called itself when it signed in; empty if it did not.
    async fn label(&self) -> &str {
        self.session.label.as_str()
    }

    /// Whether this is the session that asks.
    async fn is_current(&self) -> bool {
        self.is_current
    }
}
