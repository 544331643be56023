//! What the resolvers of one request share.
//!
//! Every node holds its scope, so a payload can have another viewer and loader than the request:
//! what a mutation answers is read anew, and seen by whoever it signed in.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, Mutex, OnceLock, PoisonError};

use async_graphql::Context;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::app::App;
use crate::app::error::Error;
use crate::app::rate_limit::RateLimit;
use crate::app::viewer::{Asker, Viewer};
use crate::budget::{Budget, Resource};
use crate::graphql::loader::Loader;
use crate::model::address::Address;
use crate::model::id::UserId;

/// Who asks, and a loader that remembers what was read for it. Lives for a query or for one field
/// of a mutation.
pub(super) struct Scope {
    pub(super) app: App,
    pub(super) loader: Loader,
    asker: Asker,
    /// What the operation may use, and has used.
    budget: Arc<Budget>,
    /// Whether a field of this document has ended the session that asks.
    has_ended: AtomicBool,
    /// The viewer under the token that a field of this document has put in place of the one that asks.
    renewed: OnceLock<Viewer>,
    /// Whose profiles were shown.
    shown: Mutex<Vec<UserId>>,
}

impl Scope {
    pub(super) fn new(app: App, asker: Asker, budget: Arc<Budget>) -> Self {
        let loader = Loader::new(app.clone(), Arc::clone(&budget));
        let (has_ended, renewed) = (AtomicBool::new(false), OnceLock::new());
        Self { app, loader, asker, budget, has_ended, renewed, shown: Mutex::default() }
    }

    /// The scope of the request.
    pub(super) fn of(context: &Context<'_>) -> Arc<Self> {
        Arc::clone(context.data_unchecked::<Arc<Self>>())
    }

    /// The same viewer with nothing read yet.
    pub(super) fn afresh(&self) -> Arc<Self> {
        self.seen_by(self.viewer().clone())
    }

    /// Another viewer, with nothing read yet.
    pub(super) fn seen_by(&self, viewer: Viewer) -> Arc<Self> {
        let asker = Asker { viewer, ..self.asker.clone() };
        Arc::new(Self::new(self.app.clone(), asker, Arc::clone(&self.budget)))
    }

    /// The same viewer with nothing read yet and nothing used: for an event of a subscription.
    pub(super) fn for_event(&self) -> Arc<Self> {
        Arc::new(Self::new(self.app.clone(), self.asker.clone(), self.budget.renewed()))
    }

    /// The budget of the operation.
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// A text of the response, if there is room for it.
    pub(super) fn text<'a>(&self, text: &'a str) -> Result<&'a str, Error> {
        self.budget.spend(Resource::ResponseBytes, text.len() as u64)?;
        Ok(text)
    }

    /// Who is asking: nobody any more, once a field has ended the session.
    pub(super) fn viewer(&self) -> &Viewer {
        if self.has_ended.load(Ordering::Relaxed) {
            return &Viewer::Anonymous;
        }
        self.renewed.get().unwrap_or(&self.asker.viewer)
    }

    /// From where it is asked, if that is known.
    pub(super) fn address(&self) -> Option<Address> {
        self.asker.address
    }

    /// What may still be asked for, if that is limited.
    pub(super) fn rate_limit(&self) -> Option<RateLimit> {
        self.asker.rate_limit
    }

    /// The user who is asking, if somebody is signed in.
    pub(super) fn viewer_id(&self) -> Option<UserId> {
        self.viewer().user()
    }

    /// A profile is shown to the viewer.
    pub(super) fn show_profile(&self, user: UserId) {
        self.shown.lock().unwrap_or_else(PoisonError::into_inner).push(user);
    }

    /// Notes that the viewer has looked at the profiles that were shown, also if nobody waits for it any more. One
    /// round trip at most.
    pub(super) async fn record_views(&self, tasks: &TaskTracker) {
        let shown = std::mem::take(&mut *self.shown.lock().unwrap_or_else(PoisonError::into_inner));
        if shown.is_empty() {
            return;
        }
        let (app, viewer) = (self.app.clone(), self.viewer().clone());
        let recording = tasks.spawn(async move { app.record_views(&viewer, &shown).await }.in_current_span());
        // What it has to say is in the log.
        drop(recording.await);
    }

    /// The session that asks continues under another token: by this viewer the fields that follow in the document ask.
    /// It happens once, since a document has one field at most that changes a password.
    pub(super) fn renew_session(&self, viewer: Viewer) {
        drop(self.renewed.set(viewer));
    }

    /// The session that asks has ended: the fields that follow in the document are nobody's.
    pub(super) fn end_session(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
