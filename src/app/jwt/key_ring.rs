//! The application's public keys in force, and when they are fetched again.
//!
//! - At start, and then every few minutes, as the response's `max-age` says within bounds.
//! - For a token whose key id is unknown: one fetch for all callers that wait, and at most one every ten seconds,
//!   however many such tokens arrive.
//!
//! While fetches fail, the known keys stay in force. A key that is no longer in the set is rejected from the next
//! successful fetch on.
//!
//! Not here: the fetch itself (`app::jwt::fetch`).

use std::path::PathBuf;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use parking_lot::{Mutex, MutexGuard};

use crate::app::jwt::fetch::{Fetched, KeySetClient};
use crate::app::jwt::keys::{KeySet, MOST_CANDIDATES};
use crate::config::JwtSource;
use crate::model::clock::Timestamp;

/// Minimum interval between fetches for tokens with unknown key ids.
const UNKNOWN_INTERVAL: Duration = Duration::from_secs(10);
/// Interval between fetches if the response states none.
const INTERVAL: Duration = Duration::from_mins(5);
/// Minimum interval between fetches, whatever the response states.
const SHORTEST_INTERVAL: Duration = Duration::from_mins(1);
/// Maximum interval between fetches, whatever the response states.
const LONGEST_INTERVAL: Duration = Duration::from_hours(1);
/// Interval between fetches while they fail.
const RETRY_INTERVAL: Duration = Duration::from_secs(15);

/// The causes for which keys cannot be used at all.
#[derive(Debug, thiserror::Error)]
pub enum KeyRingError {
    /// Options are missing or contradict each other.
    #[error("{0}")]
    Options(&'static str),
    /// A PEM file cannot be read.
    #[error("cannot read {path}, named by --jwt-public-keys")]
    Unreadable {
        /// The file.
        path: PathBuf,
        /// The cause.
        #[source]
        cause: std::io::Error,
    },
    /// A PEM file is invalid.
    #[error("{path}, named by --jwt-public-keys, {rule}")]
    Invalid {
        /// The file.
        path: PathBuf,
        /// The violated rule.
        rule: &'static str,
    },
    /// The client of --jwt-jwks-url cannot be created.
    #[error("the keys at --jwt-jwks-url cannot be fetched")]
    Client(#[source] Box<dyn std::error::Error + Send + Sync>),
}

/// The state of the keys, as monitoring reports it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct KeyRingState {
    /// Number of keys in force.
    pub keys: usize,
    /// Time since the keys were read; `None` if that has never succeeded.
    pub age: Option<Duration>,
    /// True if the last fetch failed.
    pub is_failing: bool,
}

/// The keys of a process. Clones share them.
#[derive(Clone, Default)]
pub(super) struct KeyRing(Arc<Inner>);

#[derive(Default)]
struct Inner {
    state: Mutex<State>,
    /// The client; unset if the keys are in files, or not opened.
    client: OnceLock<KeySetClient>,
    /// Lock held during a fetch.
    turn: tokio::sync::Mutex<()>,
}

#[derive(Default)]
struct State {
    keys: Arc<KeySet>,
    /// Time of the last fetch, successful or not.
    tried: Option<Timestamp>,
    /// Time of the last successful fetch, or at which the files were read.
    read: Option<Timestamp>,
    is_failing: bool,
    /// Time after which the next fetch begins.
    interval: Duration,
    /// Number of fetches that have ended.
    fetches: u64,
}

impl KeyRing {
    /// Reads the keys for the first time. Keys that cannot be fetched are fetched later; all other failures are errors.
    pub(super) async fn open(&self, source: JwtSource<'_>, now: Timestamp) -> Result<(), KeyRingError> {
        match source {
            JwtSource::Url(url) => {
                let client = KeySetClient::new(url.expose()).map_err(KeyRingError::Client)?;
                // Only the first call opens the keys.
                drop(self.0.client.set(client));
                self.refresh(now).await;
            }
            JwtSource::Files(paths) => {
                let mut keys = KeySet::default();
                for path in paths.iter().filter(|path| !path.as_os_str().is_empty()) {
                    let unreadable = |cause| KeyRingError::Unreadable { path: path.clone(), cause };
                    let text = tokio::fs::read_to_string(path).await.map_err(unreadable)?;
                    let invalid = |rule| KeyRingError::Invalid { path: path.clone(), rule };
                    keys = keys.and(KeySet::of_pem(&text).map_err(invalid)?);
                }
                // Keys in files have no ids.
                if keys.len() > MOST_CANDIDATES {
                    return Err(KeyRingError::Options("--jwt-public-keys may have 4 keys in all"));
                }
                let mut state = self.state();
                (state.keys, state.read) = (Arc::new(keys), Some(now));
            }
        }
        Ok(())
    }

    /// Returns the keys in force.
    pub(super) fn keys(&self) -> Arc<KeySet> {
        Arc::clone(&self.state().keys)
    }

    /// Returns the state of the keys.
    pub(super) fn report(&self, now: Timestamp) -> KeyRingState {
        let state = self.state();
        let age = state.read.map(|read| now.since(read));
        KeyRingState { keys: state.keys.len(), age, is_failing: state.is_failing }
    }

    /// Returns the time to wait before the next regular fetch; `None` if the keys are never fetched.
    pub(super) fn interval(&self) -> Option<Duration> {
        self.0.client.get().map(|_| self.state().interval)
    }

    /// Fetches the keys, if they are at a URL.
    pub(super) async fn refresh(&self, now: Timestamp) {
        let _turn = self.0.turn.lock().await;
        self.fetch(now).await;
    }

    /// Fetches the keys for a token with an unknown key id, unless that was done a moment ago. Callers that arrive
    /// during a fetch wait for it. A caller that stops waiting does not interrupt the fetch.
    pub(super) async fn look_for_new_keys(&self, now: Timestamp) {
        if self.0.client.get().is_none() || (self.was_tried_lately(now) && self.0.turn.try_lock().is_ok()) {
            return;
        }
        let (ring, fetches) = (self.clone(), self.state().fetches);
        let fetching = tokio::spawn(async move {
            let _turn = ring.0.turn.lock().await;
            if ring.state().fetches == fetches && !ring.was_tried_lately(now) {
                ring.fetch(now).await;
            }
        });
        // Fails only while the process ends.
        drop(fetching.await);
    }

    fn was_tried_lately(&self, now: Timestamp) -> bool {
        self.state().tried.is_some_and(|tried| now.since(tried) < UNKNOWN_INTERVAL)
    }

    async fn fetch(&self, now: Timestamp) {
        let Some(client) = self.0.client.get() else { return };
        self.state().tried = Some(now);
        let fetched = client.fetch().await;
        let mut state = self.state();
        state.fetches += 1;
        state.is_failing = fetched.is_err();
        match fetched {
            Ok(Fetched { keys, max_age }) => {
                if keys.len() == 0 {
                    tracing::warn!("the JWT key set has no usable key; all tokens are rejected");
                }
                let interval = max_age.unwrap_or(INTERVAL);
                state.interval = interval.clamp(SHORTEST_INTERVAL, LONGEST_INTERVAL);
                (state.keys, state.read) = (Arc::new(keys), Some(now));
            }
            Err(error) => {
                state.interval = RETRY_INTERVAL;
                let (error, keys) = (&error as &dyn std::error::Error, state.keys.len());
                tracing::warn!(error, keys, "the JWT keys cannot be fetched; the known keys stay in force");
            }
        }
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }
}
