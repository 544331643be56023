//! Caches users' records, their sessions and the holders of usernames in this process, kept coherent by Redis.
//!
//! What the cache lacks is read over one connection of its own. Redis tracks the keys that are read over this
//! connection, and pushes a message over it when such a key changes
//! (<https://redis.io/docs/latest/develop/reference/client-side-caching/>).
//!
//! # Why an entry is never stale for long
//! - Messages and replies arrive in order over one connection. A *load* is announced before its read is sent. A message
//!   that arrives before the load ends cancels it, so that the value, read before the change, is not kept.
//! - A write by this process removes the entry before the write is acknowledged ([`Cache::forget`]), as the message may
//!   arrive later. A write by another process removes it when the message arrives.
//! - When the connection breaks, messages may be lost: all entries are removed, and all loads cancelled, before any
//!   caller that waits for the connection continues. While the connection's PING is unanswered for a second, entries
//!   are not used.
//!
//! Values that do not exist are not kept: whatever is created is visible at once.

use std::collections::HashMap;
use std::mem::size_of;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use parking_lot::{Mutex, MutexGuard};
use quick_cache::Weighter;

use crate::driver::peer::Peer;
use crate::driver::pool::Tracker;
use crate::driver::reply::Reply;
use crate::driver::wire::Listener;
use crate::model::exclusion::Version;
use crate::model::id::UserId;
use crate::model::secret::TokenHash;
use crate::model::user::{FieldValue, User, Username};
use crate::store::key::Keys;
use crate::store::session::{Authentication, StoredSession};

/// Estimated size of an entry beside its texts, in bytes.
const OVERHEAD: u64 = 200;
/// Estimated size of an entry with its texts, in bytes.
const ENTRY: u64 = 400;

/// Maximum number of cached usernames of a shard, and of cached sessions of a user.
const MOST_FIELDS: usize = 32;

/// The cache of a process. Clones share it.
#[derive(Clone)]
pub(super) struct Cache(Arc<Inner>);

struct Inner {
    entries: quick_cache::sync::Cache<Subject, Entry, Size>,
    /// Builder of the keys, which have the same prefix for every layout.
    keys: Keys,
    /// True while Redis is tracking the entries.
    is_usable: AtomicBool,
    peer: Arc<Peer>,
    /// The server's generation when the connection was opened.
    generation: AtomicU64,
    state: Mutex<State>,
}

#[derive(Default)]
struct State {
    /// Number of the connection over which the entries were read.
    connection: u64,
    /// The load of each subject that is being read.
    loads: HashMap<Subject, u64>,
    /// Number of the last load.
    last: u64,
}

/// What is cached: a Redis key.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(super) enum Subject {
    /// A user's record.
    User(UserId),
    /// A user's sessions.
    Sessions(UserId),
    /// A shard of the username index.
    Names(u32),
}

/// A cached value.
#[derive(Clone, Debug)]
pub(super) enum Entry {
    /// A user's record with all of its fields.
    User(Arc<User>),
    /// Some of a user's sessions, and the version of the user's exclusions.
    Sessions { sessions: Arc<[StoredSession]>, exclusions: Option<Version> },
    /// Some usernames of a shard, and the users to whom they belong for good.
    Names(Arc<[(Username, UserId)]>),
}

/// Measures entries in bytes.
#[derive(Clone)]
struct Size;

impl Weighter<Subject, Entry> for Size {
    fn weight(&self, _subject: &Subject, entry: &Entry) -> u64 {
        OVERHEAD
            + match entry {
                Entry::User(user) => {
                    let size =
                        |(_, value)| if let FieldValue::Text(Some(text)) = value { text.len() } else { 0 };
                    (user.username.len() + user.values().map(size).sum::<usize>()) as u64
                }
                Entry::Sessions { sessions, exclusions: _ } => {
                    let size = |stored: &StoredSession| {
                        stored.session.label.as_str().len() + size_of::<StoredSession>()
                    };
                    sessions.iter().map(size).sum::<usize>() as u64
                }
                Entry::Names(names) => {
                    let size = |(name, _): &(Username, UserId)| {
                        name.as_str().len() + size_of::<(Username, UserId)>()
                    };
                    names.iter().map(size).sum::<usize>() as u64
                }
            }
    }
}

impl Cache {
    /// Creates an empty cache of at most this size in bytes.
    pub(super) fn new(bytes: u64, prefix: &str, peer: Arc<Peer>) -> Self {
        let items = usize::try_from(bytes / ENTRY).unwrap_or(usize::MAX);
        let entries = quick_cache::sync::Cache::with_weighter(items, bytes, Size);
        let (keys, is_usable, generation) =
            (Keys::new(prefix, 1), AtomicBool::new(false), AtomicU64::default());
        Self(Arc::new(Inner { entries, keys, is_usable, peer, generation, state: Mutex::default() }))
    }

    fn state(&self) -> MutexGuard<'_, State> {
        self.0.state.lock()
    }

    /// Returns a user's record with all of its fields, if it is cached.
    pub(super) fn user(&self, user: UserId) -> Option<Arc<User>> {
        match self.get(Subject::User(user))? {
            Entry::User(user) => Some(user),
            Entry::Sessions { .. } | Entry::Names(_) => None,
        }
    }

    /// Returns the session of a session token of this user, if it is cached.
    pub(super) fn session(&self, user: UserId, token: &TokenHash) -> Option<Authentication> {
        match self.get(Subject::Sessions(user))? {
            Entry::Sessions { sessions, exclusions } => {
                let stored = sessions.iter().find(|stored| stored.token == *token)?;
                Some(Authentication { session: stored.session.clone(), exclusions })
            }
            Entry::User(_) | Entry::Names(_) => None,
        }
    }

    /// Returns the user to whom a username in this shard belongs, if that is cached.
    pub(super) fn holder(&self, shard: u32, username: &Username) -> Option<UserId> {
        match self.get(Subject::Names(shard))? {
            Entry::Names(names) => names.iter().find(|(name, _)| name == username).map(|(_, user)| *user),
            Entry::User(_) | Entry::Sessions { .. } => None,
        }
    }

    fn get(&self, subject: Subject) -> Option<Entry> {
        let inner = &self.0;
        let is_tracked = inner.is_usable.load(Ordering::Acquire)
            && inner.generation.load(Ordering::Relaxed) == inner.peer.generation();
        is_tracked.then(|| inner.entries.get(&subject))?
    }

    /// Announces that these subjects are about to be read.
    pub(super) fn load(&self, subjects: impl Iterator<Item = Subject>) -> Load {
        let mut state = self.state();
        state.last += 1;
        let number = state.last;
        // A subject that is being read already belongs to the earlier load.
        let subjects = subjects.filter(|subject| *state.loads.entry(*subject).or_insert(number) == number);
        let subjects = subjects.collect();
        drop(state);
        Load { cache: self.clone(), number, subjects }
    }

    /// Removes an entry, and cancels its load.
    pub(super) fn forget(&self, subject: Subject) {
        let mut state = self.state();
        state.loads.remove(&subject);
        self.0.entries.remove(&subject);
    }

    /// Removes all entries, and cancels all loads.
    fn clear(&self, state: &mut State) {
        state.loads.clear();
        self.0.entries.clear();
    }
}

impl Tracker for Cache {
    fn listen(&self, generation: u64) -> Box<dyn Listener> {
        let mut state = self.state();
        self.0.is_usable.store(false, Ordering::Release);
        self.clear(&mut state);
        self.0.generation.store(generation, Ordering::Relaxed);
        state.connection += 1;
        Box::new(Tracking { cache: self.clone(), connection: state.connection })
    }
}

/// Values that are being read. Cancelled when it is dropped.
pub(super) struct Load {
    cache: Cache,
    number: u64,
    subjects: Vec<Subject>,
}

impl Load {
    /// Keeps a value, unless its load was cancelled. Keeps the other usernames of the same shard, and the other
    /// sessions of the same user.
    pub(super) fn keep(&self, subject: Subject, entry: Entry) {
        let mut state = self.cache.state();
        if state.loads.get(&subject) != Some(&self.number) {
            return;
        }
        state.loads.remove(&subject);
        let entries = &self.cache.0.entries;
        let entry = match (entry, entries.peek(&subject)) {
            (Entry::Names(new), Some(Entry::Names(known))) => {
                Entry::Names(merged(&new, &known, |one, other| one.0 == other.0))
            }
            (Entry::Sessions { sessions, exclusions }, Some(Entry::Sessions { sessions: known, .. })) => {
                let sessions = merged(&sessions, &known, |one, other| one.token == other.token);
                Entry::Sessions { sessions, exclusions }
            }
            (entry, _) => entry,
        };
        entries.insert(subject, entry);
    }
}

/// Returns the new fields of a hash, followed by the other known fields.
fn merged<T: Clone>(new: &[T], known: &[T], is_same: impl Fn(&T, &T) -> bool) -> Arc<[T]> {
    let is_other = |known: &&T| new.iter().all(|new| !is_same(new, known));
    new.iter().chain(known.iter().filter(is_other)).take(MOST_FIELDS).cloned().collect()
}

impl Drop for Load {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        for subject in &self.subjects {
            if state.loads.get(subject) == Some(&self.number) {
                state.loads.remove(subject);
            }
        }
    }
}

/// The listener of a connection over which Redis tracks keys.
struct Tracking {
    cache: Cache,
    connection: u64,
}

impl Tracking {
    /// Makes the entries usable or unusable, unless there is a newer connection.
    fn set_usable(&self, is_usable: bool) {
        let state = self.cache.state();
        if state.connection == self.connection {
            self.cache.0.is_usable.store(is_usable, Ordering::Release);
        }
    }
}

/// Returns what is cached of this key.
fn subject(keys: &Keys, key: &[u8]) -> Option<Subject> {
    let user = || keys.user_of(key).map(Subject::User);
    let sessions = || keys.sessions_owner_of(key).map(Subject::Sessions);
    let names = || keys.names_shard_of(key).map(Subject::Names);
    user().or_else(sessions).or_else(names)
}

impl Listener for Tracking {
    fn is_tracking(&self) -> bool {
        true
    }

    fn receive(&mut self, message: Reply<'_>) {
        let Some(mut parts) = message.elements() else { return };
        if parts.next().and_then(Reply::string) != Some(b"invalidate") {
            return;
        }
        match parts.next().and_then(Reply::elements) {
            Some(keys) => {
                let cache = &self.cache;
                let subject = |key: Reply<'_>| subject(&cache.0.keys, key.string()?);
                keys.filter_map(subject).for_each(|subject| cache.forget(subject));
            }
            // All keys were removed.
            None => self.cache.clear(&mut self.cache.state()),
        }
    }

    fn pause(&mut self) {
        self.set_usable(false);
    }

    fn resume(&mut self) {
        self.set_usable(true);
    }
}

impl Drop for Tracking {
    fn drop(&mut self) {
        let mut state = self.cache.state();
        if state.connection == self.connection {
            self.cache.0.is_usable.store(false, Ordering::Release);
            self.cache.clear(&mut state);
        }
    }
}
