//! State shared by the resolvers of one request.
//!
//! Every node holds its scope, so the viewer and loader of a mutation's payload can differ from the request's. For
//! example, `login` reads its payload with a new loader, as the newly signed-in user sees it.

use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};

use async_graphql::{Context, Pos};
use parking_lot::Mutex;
use tokio_util::task::TaskTracker;
use tracing::Instrument as _;

use crate::app::App;
use crate::app::charge::RateLimit;
use crate::app::error::Error;
use crate::app::viewer::{Caller, Viewer};
use crate::app::visibility::Visible;
use crate::budget::{Budget, Resource};
use crate::graphql::document::entry::EntryCosts;
use crate::graphql::loader::Loader;
use crate::model::address::Address;
use crate::model::id::UserId;

/// The caller and a loader that caches the data read for them. Lives for one query, one mutation payload or one
/// subscription event.
pub(super) struct Scope {
    pub(super) app: App,
    pub(super) loader: Loader,
    caller: Caller,
    /// The operation's budget, including the amount used so far.
    budget: Arc<Budget>,
    /// What each entry of the operation's lists costs.
    entries: Arc<EntryCosts>,
    /// True once a field of this document has ended the caller's session.
    has_ended: AtomicBool,
    /// The viewer with the new token, set once a field of this document has replaced the caller's token.
    renewed: OnceLock<Viewer>,
    /// Users whose profiles were shown to the viewer. These views are yet to be recorded.
    shown: Mutex<Vec<UserId>>,
}

impl Scope {
    pub(super) fn new(app: App, caller: Caller, budget: Arc<Budget>, entries: Arc<EntryCosts>) -> Self {
        let loader = Loader::new(app.clone(), Arc::clone(&budget));
        let (has_ended, renewed) = (AtomicBool::new(false), OnceLock::new());
        Self { app, loader, caller, budget, entries, has_ended, renewed, shown: Mutex::default() }
    }

    /// Returns the request's scope.
    pub(super) fn of(context: &Context<'_>) -> Arc<Self> {
        Arc::clone(context.data_unchecked::<Arc<Self>>())
    }

    /// Returns a scope with the same viewer and an empty loader.
    pub(super) fn afresh(&self) -> Arc<Self> {
        self.seen_by(self.viewer().clone())
    }

    /// Returns a scope with another viewer and an empty loader.
    pub(super) fn seen_by(&self, viewer: Viewer) -> Arc<Self> {
        let caller = Caller { viewer, ..self.caller.clone() };
        Arc::new(self.with(caller, Arc::clone(&self.budget)))
    }

    /// Returns a scope with the same viewer, an empty loader and an unused budget, for an event of a subscription.
    pub(super) fn for_event(&self) -> Arc<Self> {
        Arc::new(self.with(self.caller.clone(), self.budget.renewed()))
    }

    /// Returns a scope of the same operation.
    fn with(&self, caller: Caller, budget: Arc<Budget>) -> Self {
        Self::new(self.app.clone(), caller, budget, Arc::clone(&self.entries))
    }

    /// Returns the operation's budget.
    pub(super) fn budget(&self) -> &Arc<Budget> {
        &self.budget
    }

    /// Returns `text` and charges its length to the budget for the response.
    pub(super) fn text<'a>(&self, text: &'a str) -> Result<&'a str, Error> {
        self.budget.spend(Resource::ResponseBytes, text.len() as u64)?;
        Ok(text)
    }

    /// Charges the entries of a list to the budget, before their objects are made: those beyond the number from which
    /// the operation's cost was predicted. `at` is the position of the list's field in the document.
    pub(super) fn admit(&self, at: Pos, count: usize) -> Result<(), Error> {
        let excess = self.entries.get(&at).map_or(0, |entry| entry.excess(count));
        Ok(self.budget.spend(Resource::Excess, excess)?)
    }

    /// Charges the names of the fields of these entries to the budget for the response.
    pub(super) fn charge_names(&self, at: Pos, count: usize) -> Result<(), Error> {
        let bytes = self.entries.get(&at).map_or(0, |entry| entry.name_bytes.saturating_mul(count as u64));
        Ok(self.budget.spend(Resource::ResponseBytes, bytes)?)
    }

    /// Returns the viewer, who is anonymous once a field has ended the session.
    pub(super) fn viewer(&self) -> &Viewer {
        if self.has_ended.load(Ordering::Relaxed) {
            return &Viewer::Anonymous;
        }
        self.renewed.get().unwrap_or(&self.caller.viewer)
    }

    /// Returns the caller's IP address, if known.
    pub(super) fn address(&self) -> Option<Address> {
        self.caller.address
    }

    /// Returns the caller's rate limit, if any.
    pub(super) fn rate_limit(&self) -> Option<RateLimit> {
        self.caller.rate_limit
    }

    /// Returns a handle for loading the users and posts that the viewer may see.
    pub(super) fn visible(&self) -> Visible<'_, Loader> {
        Visible { app: &self.app, load: &self.loader, viewer: self.viewer() }
    }

    /// Returns the id of the signed-in user, if any.
    pub(super) fn viewer_id(&self) -> Option<UserId> {
        self.viewer().user()
    }

    /// Marks a profile as shown to the viewer.
    pub(super) fn show_profile(&self, user: UserId) {
        self.shown.lock().push(user);
    }

    /// Records the viewer's views of the profiles shown. Runs to completion even if this future is dropped. Makes at
    /// most one round trip.
    pub(super) async fn record_views(&self, tasks: &TaskTracker) {
        let shown = std::mem::take(&mut *self.shown.lock());
        if shown.is_empty() {
            return;
        }
        let (app, viewer) = (self.app.clone(), self.viewer().clone());
        let recording = tasks.spawn(async move { app.record_views(&viewer, &shown).await }.in_current_span());
        // The task logs its own errors.
        drop(recording.await);
    }

    /// Continues the caller's session under a new token. The document's later fields run as this viewer. Called at most
    /// once, because a document has at most one field that changes a password.
    pub(super) fn renew_session(&self, viewer: Viewer) {
        drop(self.renewed.set(viewer));
    }

    /// Ends the caller's session. The document's later fields run anonymously.
    pub(super) fn end_session(&self) {
        self.has_ended.store(true, Ordering::Relaxed);
    }
}
