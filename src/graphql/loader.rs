//! Batched loading: sends the reads of all resolvers on one level of a query together.
//!
//! One loader handles all types of reads, so everything that a query level needs (users, relations and lists) takes
//! **one** round trip. The cache key is the read itself, which contains everything that its value depends on. The
//! loader lives for one scope and caches every value.
//!
//! # Why the `dataloader` crate, and how its edge cases are handled
//! The crate batches by yielding to the other resolvers, without a timer. It has these edge cases:
//!
//! - `load` panics where `try_load` returns an error, so this module uses only `try_load`.
//! - A batch is cancelled if a sibling of the resolver that sends it fails and the resolver is dropped. Other loads in
//!   the batch then receive *not found*. Every read has a value, so *not found* always means cancelled, and the load
//!   retries. Reads have no side effects, so retrying is safe.
//! - Taking the crate's lock counts against tokio's cooperative budget. A level with more than about a hundred loads
//!   would exhaust the budget, and its reads would be sent in several batches. Loads are therefore exempt from the
//!   budget; operations that take long give way to others anyway ([`super::turn`]).
//! - The crate holds its lock while a batch is in flight and hashes every key several times. A page is therefore one
//!   read, not one read per entry.

use std::collections::HashMap;
use std::hash::Hash;
use std::sync::Arc;

use dataloader::BatchFn;
use dataloader::cached;
use futures::FutureExt as _;
use futures::future::try_join;
use parking_lot::Mutex;
use tokio::task::unconstrained;

use crate::app::App;
use crate::app::audience::{self, Visitors};
use crate::app::error::Error;
use crate::app::read::{AnyRead, AnyResult, Load, Read};
use crate::app::timeline::{TimelinePage, TimelineQuery};
use crate::app::viewer::Viewer;
use crate::budget::{Budget, Resource};
use crate::graphql::usage;
use crate::model::clock::Day;
use crate::model::id::UserId;

/// Number of times a load yields to the other resolvers before it sends the reads collected so far. All resolvers run
/// in one task, so one yield polls each of them.
const YIELDS: usize = 1;

/// Maximum number of reads in a batch. The loader sends a full batch before all resolvers of a level have added their
/// reads.
const MOST_READS: usize = 10_000;

/// A loader that performs reads in batches and caches their values.
pub(super) struct Loader {
    app: App,
    budget: Arc<Budget>,
    reads: cached::Loader<AnyRead, AnyResult, Batches>,
    timelines: Memo<TimelineQuery, Arc<TimelinePage>>,
    /// Lock that serializes timeline reads. If the timeline must be filled, the first read fills it for all of them.
    timeline_turn: tokio::sync::Mutex<()>,
    audiences: Memo<(UserId, i64), Visitors>,
}

/// A cache of results that take several round trips to read.
struct Memo<K, V>(Mutex<HashMap<K, V>>);

impl<K: Eq + Hash, V: Clone> Memo<K, V> {
    fn new() -> Self {
        Self(Mutex::new(HashMap::new()))
    }

    fn get(&self, key: &K) -> Option<V> {
        self.0.lock().get(key).cloned()
    }

    /// Caches a result unless the key already has a result. Returns the cached result.
    fn keep(&self, key: K, value: V) -> V {
        self.0.lock().entry(key).or_insert(value).clone()
    }
}

/// The batch function, which sends reads within a budget.
struct Batches {
    app: App,
    budget: Arc<Budget>,
}

impl BatchFn<AnyRead, AnyResult> for Batches {
    async fn load(&mut self, reads: &[AnyRead]) -> HashMap<AnyRead, AnyResult> {
        usage::record_batch(reads.len());
        self.budget.limit(self.app.read_all(reads)).boxed().await
    }
}

impl Load for Loader {
    async fn load<R: Read>(&self, read: R) -> Result<R::Value, Error> {
        let read = AnyRead::new(read);
        loop {
            if let Ok(result) = unconstrained(self.reads.try_load(read.clone())).await {
                return result.of::<R>();
            }
        }
    }

    async fn load_both<A: Read, B: Read>(&self, one: A, other: B) -> Result<(A::Value, B::Value), Error> {
        try_join(self.load(one), self.load(other)).await
    }
}

impl Loader {
    pub(super) fn new(app: App, budget: Arc<Budget>) -> Self {
        let batches = Batches { app: app.clone(), budget: Arc::clone(&budget) };
        let reads = cached::Loader::new(batches);
        let reads = reads.with_yield_count(YIELDS).with_max_batch_size(MOST_READS);
        Self {
            app,
            budget,
            reads,
            timelines: Memo::new(),
            timeline_turn: tokio::sync::Mutex::default(),
            audiences: Memo::new(),
        }
    }

    /// Returns the users who viewed a user's profile in the `days` days up to `today`. Makes no round trip on a cache
    /// hit; otherwise as many as [`audience::visitors`].
    pub(super) async fn audience(&self, user: UserId, today: Day, days: i64) -> Result<Visitors, Error> {
        let key = (user, days);
        if let Some(visitors) = self.audiences.get(&key) {
            return Ok(visitors);
        }
        // Boxed because resolvers nest: otherwise, each resolver would reserve stack for a path that few resolvers
        // take.
        let visitors = audience::visitors(self, user, today, days).boxed().await?;
        // Sorting the profile viewers takes this server about as long as Redis takes to scan them.
        self.budget.spend(Resource::Commands, visitors.some.len() as u64 / 8)?;
        Ok(self.audiences.keep(key, visitors))
    }

    /// Returns a page of the viewer's home timeline.
    pub(super) async fn timeline(
        &self,
        viewer: &Viewer,
        query: TimelineQuery,
    ) -> Result<Arc<TimelinePage>, Error> {
        let _turn = self.timeline_turn.lock().await;
        if let Some(page) = self.timelines.get(&query) {
            return Ok(page);
        }
        // Boxed for the same reason as in `audience`.
        let page = self.budget.limit(self.app.timeline(viewer, query)).boxed().await?;
        Ok(self.timelines.keep(query, Arc::new(page)))
    }
}
