//! Reads through the cache of records: what is cached, from memory; everything else, over the cache's connection.
//!
//! Not here: what keeps the cache coherent (`store::cache`).

use std::collections::HashMap;
use std::sync::Arc;

use crate::model::id::UserId;
use crate::model::user::{User, UserFields, Username};
use crate::store::batch::Batch;
use crate::store::cache::{Cache, Entry, Subject};
use crate::store::error::Error;
use crate::store::name::{self, Holder};
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
        let cache = Cache::new(bytes, prefix, Arc::clone(store.pool.peer()));
        let pool = store.pool.tracking(cache.clone()).await?;
        Ok(Self { cache, store: Store { pool, ..store.clone() } })
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

    /// Reads what the cache lacks, and keeps it. Makes one round trip; none if there is nothing to read.
    pub async fn read_missed(&self, users: &[UserId], usernames: &[Username]) -> Result<Missed, Error> {
        let Some(Cached { cache, store }) = self.cached.as_deref() else { return Ok(Missed::default()) };
        let shard = |username: &Username| self.keys.names_shard(username);
        let names = usernames.iter().map(|username| Subject::Names(shard(username)));
        let load = cache.load(users.iter().copied().map(Subject::User).chain(names));
        let mut batch = Batch::new("cache");
        let fields = UserFields::DISPLAY_NAME | UserFields::BIO | UserFields::CREATED_AT;
        let records = (!users.is_empty()).then(|| batch.push(user::read_all(&self.keys, users, fields)));
        let holders: Vec<_> =
            usernames.iter().map(|username| batch.push(name::holder(&self.keys, username))).collect();
        let mut replies = batch.send(store).await?;
        let mut missed = Missed::default();
        for (user, record) in records.map(|records| replies.take(records)).transpose()?.unwrap_or_default() {
            missed.users.insert(user, load.keep_user(user, record));
        }
        for (username, holder) in usernames.iter().zip(replies.take_all(holders)?) {
            if let Some(Holder::Settled(user)) = holder {
                let names = [(username.clone(), user)];
                load.keep(Subject::Names(shard(username)), Entry::Names(names.into()));
            }
            missed.holders.extend(holder.map(|holder| (username.clone(), holder)));
        }
        Ok(missed)
    }

    /// Removes a user's record from the cache. Call this function when this process has changed the record, before the
    /// change is acknowledged.
    pub fn forget_user(&self, user: UserId) {
        if let Some(cached) = &self.cached {
            cached.cache.forget(Subject::User(user));
        }
    }
}
