//! What the resolvers of one request share.
//!
//! Every node holds its scope, so a payload can have another viewer and loader than the request:
//! what a mutation answers is read anew, and seen by whoever it signed in.

use std::sync::Arc;

use async_graphql::Context;

use crate::app::App;
use crate::app::viewer::Viewer;
use crate::graphql::loader::Loader;
use crate::model::id::UserId;

/// A viewer, and a loader that remembers what was read for it. Lives for a query or for one field
/// of a mutation.
pub(super) struct Scope {
    pub(super) app: App,
    pub(super) viewer: Viewer,
    pub(super) loader: Loader,
}

impl Scope {
    pub(super) fn new(app: App, viewer: Viewer) -> Self {
        let loader = Loader::new(app.clone());
        Self { app, viewer, loader }
    }

    /// The scope of the request.
    pub(super) fn of(context: &Context<'_>) -> Arc<Self> {
        Arc::clone(context.data_unchecked::<Arc<Self>>())
    }

    /// The same viewer with nothing read yet.
    pub(super) fn afresh(&self) -> Arc<Self> {
        self.seen_by(self.viewer.clone())
    }

    /// Another viewer, with nothing read yet.
    pub(super) fn seen_by(&self, viewer: Viewer) -> Arc<Self> {
        Arc::new(Self::new(self.app.clone(), viewer))
    }

    /// The user who is asking, if somebody is signed in.
    pub(super) fn viewer_id(&self) -> Option<UserId> {
        self.viewer.user()
    }
}
