//! Reads through the cache of records: what is cached, from memory; everything else, over the cache's connection.
//!
//! Not here: what keeps the cache coherent (`store::cache`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::driver::deployment::Deployment;
use crate::model::id::UserId;
use crate::model::secret::TokenHash;
use crate::model::user::{User, UserFields, Username};
use crate::store::batch::Batch;
use crate::store::cache::{Cache, Entry, Load, Subject};
use crate::store::error::Error;
use crate::store::name::{self, Holder};
use crate::store::session::{self, Authentication, StoredSession};
use crate::store::user;
use crate::store::{OpenError, Store};

/// A cache, and the store over whose connection it reads.
pub(super) struct Cached {
    cache: Cache,
    store: Store,
}

/// What was read because the cache lacked it.
#[derive(Debug, Default)]
pub struct Missed {
    /// The records of users, with all fields but the residence.
    pub users: HashMap<UserId, Result<Option<Arc<User>>, Error>>,
    /// The holders of usernames; none for free usernames.
    pub holders: HashMap<Username, Holder>,
}

impl Cached {
    /// Opens a cache of at most this size in bytes. Fails if the server cannot track keys.
    pub(super) async fn open(store: &Store, prefix: &str, bytes: u64) -> Result<Self, OpenError> {
        let Deployment::Single(pool) = &store.deployment else { return Err(OpenError::CacheOfCluster) };
        let cache = Cache::new(bytes, prefix, Arc::clone(pool.peer()));
        let tracking = pool.tracking(Arc::new(cache.clone())).await.map_err(OpenError::Untracked)?;
        let deployment = Deployment::Single(Box::new(tracking));
        Ok(Self { cache, store: Store { deployment, ..store.clone() } })
    }
}

impl Store {
    /// Returns true if this process caches records.
    #[must_use]
    pub fn has_cache(&self) -> bool {
        self.cached.is_some()
    }

    /// Returns a user's record with all fields but the residence, if it is cached. Makes no round trip.
    #[must_use]
    pub fn cached_user(&self, user: UserId) -> Option<Arc<User>> {
        self.cached.as_ref()?.cache.user(user)
    }

    /// Returns the user to whom a username belongs, if that is cached. Makes no round trip.
    #[must_use]
    pub fn cached_holder(&self, username: &Username) -> Option<UserId> {
        self.cached.as_ref()?.cache.holder(self.keys.names_shard(username), username)
    }

    /// Reads what the cache lacks, and keeps it. Makes one round trip; none if there is nothing to read. If the cache's
    /// connection fails, reads over the other connections, and keeps nothing.
    pub async fn read_missed(&self, users: &[UserId], usernames: &[Username]) -> Result<Missed, Error> {
        let Some(Cached { cache, store }) = self.cached.as_deref() else { return Ok(Missed::default()) };
        if users.is_empty() && usernames.is_empty() {
            return Ok(Missed::default());
        }
        let shards = usernames.iter().map(|username| Subject::Names(self.keys.names_shard(username)));
        let load = cache.load(users.iter().copied().map(Subject::User).chain(shards));
        match store.read_uncached(users, usernames).await {
            Ok(missed) => {
                self.keep(&load, &missed);
                Ok(missed)
            }
            Err(error) if error.is_unavailable() => self.read_uncached(users, usernames).await,
            Err(error) => Err(error),
        }
    }

    async fn read_uncached(&self, users: &[UserId], usernames: &[Username]) -> Result<Missed, Error> {
        let mut batch = Batch::new("cache");
        let records = batch.push(user::read_all(&self.keys, users, UserFields::RECORD));
        let holder = |username| batch.push(name::holder(&self.keys, username));
        let holders: Vec<_> = usernames.iter().map(holder).collect();
        let mut replies = batch.send(self).await?;
        let records = replies.take(records)?.into_iter();
        let users = records.map(|(user, record)| (user, record.map(|record| record.map(Arc::new)))).collect();
        let holders = usernames.iter().cloned().zip(replies.take_all(holders)?);
        let holders = holders.filter_map(|(username, holder)| Some((username, holder?))).collect();
        Ok(Missed { users, holders })
    }

    fn keep(&self, load: &Load, missed: &Missed) {
        for (user, record) in &missed.users {
            if let Ok(Some(record)) = record {
                load.keep(Subject::User(*user), Entry::User(Arc::clone(record)));
            }
        }
        for (username, holder) in &missed.holders {
            if let Holder::Settled(user) = holder {
                let names = [(username.clone(), *user)];
                load.keep(Subject::Names(self.keys.names_shard(username)), Entry::Names(names.into()));
            }
        }
    }

    /// Reads a token's session; `None` if there is no such session. Makes one round trip; none if the session is
    /// cached. If the cache's connection fails, reads over the other connections, and keeps nothing.
    pub async fn session(&self, user: UserId, token: &TokenHash) -> Result<Option<Authentication>, Error> {
        let read = || session::read(&self.keys, user, token);
        let Some(Cached { cache, store }) = self.cached.as_deref() else {
            return read().send("authenticate", self).await;
        };
        if let Some(authentication) = cache.session(user, token) {
            return Ok(Some(authentication));
        }
        let load = cache.load(std::iter::once(Subject::Sessions(user)));
        match read().send("authenticate", store).await {
            Ok(authentication) => {
                if let Some(Authentication { session, exclusions }) = authentication.clone() {
                    let sessions = [StoredSession { token: *token, session }].into();
                    load.keep(Subject::Sessions(user), Entry::Sessions { sessions, exclusions });
                }
                Ok(authentication)
            }
            Err(error) if error.is_unavailable() => read().send("authenticate", self).await,
            Err(error) => Err(error),
        }
    }

    /// Removes a user's sessions from the cache. Call this function when this process has changed the sessions, before
    /// the change is acknowledged, and when another process has signalled a change.
    pub fn forget_sessions(&self, user: UserId) {
        if let Some(cached) = &self.cached {
            cached.cache.forget(Subject::Sessions(user));
        }
    }

    /// Removes a name from the cache. Call this function when this process has changed the name's holder, before the
    /// change is acknowledged.
    pub fn forget_name(&self, username: &Username) {
        if let Some(cached) = &self.cached {
            cached.cache.forget(Subject::Names(self.keys.names_shard(username)));
        }
    }

    /// Removes a user's record from the cache. Call this function when this process has changed the record, before the
    /// change is acknowledged.
    pub fn forget_user(&self, user: UserId) {
        if let Some(cached) = &self.cached {
            cached.cache.forget(Subject::User(user));
        }
    }
}
