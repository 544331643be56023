//! Performs any number of reads in one round trip.
//!
//! A [`Read`] is a loader key. It specifies the data to read, and its type determines the type of the value.
//! Each read is defined in the file of its area (`app::relation::read`, `app::post::read`, …), and adds its
//! commands to a batch. [`App::read_all`] performs all reads of one level of a query together, in **one round
//! trip**, whatever their types. The data for a whole page is one read, so that a row costs little more than
//! a command. Afterwards, [`App::read_all`] queries the archive for posts that Redis no longer has: one query
//! for posts by id, and one for pages of posts.
//!
//! # Why
//! If each read had its own type of key in the loader, a level of a query would make a round trip per type.
//! The loader therefore has a single type of key, [`AnyRead`], which erases the type of a read.
//! [`AnyResult::of`] restores the type of the value.

mod cached;
mod shared;

use std::any::Any;
use std::collections::{BTreeSet, HashMap};
use std::fmt;
use std::hash::{Hash, Hasher};
use std::sync::Arc;

use futures::FutureExt as _;
use futures::future::join;

use crate::app::App;
use crate::app::archive::{Found, Wanted};
use crate::app::error::Error;
use crate::budget;
use crate::config::RulesConfig;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::user::{UserFields, Username};
use crate::store::batch::{Batch, Replies, Ticket};
use crate::store::cached::Missed;
use crate::store::command::Command;
use crate::store::key::Keys;
use crate::store::{self, name, user};

use self::cached::Missing;
pub use self::cached::{HolderTicket, UserTicket};
pub use self::shared::{Pairs, Sample};
use self::shared::{SharedReplies, SharedRequests};

/// A request for one value, batched with other reads.
pub trait Read: Clone + Eq + Hash + Send + Sync + 'static {
    /// The type of the value, which is cheap to clone. Lists are in the order of the request.
    type Value: Clone + Send + Sync + 'static;

    /// Adds this read's commands to a batch. Returns the pending value, which decodes the replies.
    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value>;
}

/// Several reads of one type, as one read. Fails if one of them fails.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct Many<R>(pub Vec<R>);

impl<R: Read> Read for Many<R> {
    type Value = Arc<[R::Value]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        Pending::all(self.0.iter().map(|read| read.request(requests)).collect())
    }
}

/// Performs reads, either alone ([`App`]) or together with other resolvers' reads (the `graphql` loader).
pub trait Load: Sync {
    /// Performs a read. Makes one round trip, plus one query if the archive is needed.
    fn load<R: Read>(&self, read: R) -> impl Future<Output = Result<R::Value, Error>> + Send;

    /// Performs two reads in the same round trip.
    fn load_both<A: Read, B: Read>(
        &self,
        one: A,
        other: B,
    ) -> impl Future<Output = Result<(A::Value, B::Value), Error>> + Send;
}

/// The batch of requests for one level of a query.
pub struct Requests<'a> {
    app: &'a App,
    batch: Batch,
    shared: SharedRequests,
    missed: Missing,
}

impl Requests<'_> {
    /// Returns the builder of the store's keys.
    pub(in crate::app) fn keys(&self) -> &Keys {
        self.app.keys()
    }

    /// Returns the rules set by the operator.
    pub(in crate::app) fn rules(&self) -> &RulesConfig {
        self.app.rules()
    }

    /// Adds a command to the batch. Returns the ticket for its reply.
    pub(in crate::app) fn push<T>(&mut self, command: Command<T>) -> Ticket<T> {
        self.batch.push(command)
    }

    /// Requests the viewer's relations to these users. Requests from several reads share commands.
    pub(in crate::app) fn relations(&mut self, viewer: UserId, others: &[UserId]) -> Pairs {
        self.shared.relations(viewer, others)
    }

    /// Requests these users' records with at least these fields. The record does not contain the residence.
    pub(in crate::app) fn users(&mut self, users: Arc<[UserId]>, fields: UserFields) -> UserTicket {
        if self.app.store().has_cache() {
            return self.missed.users(self.app.store(), users);
        }
        UserTicket::Stored(self.push(user::read_all(self.keys(), &users, fields)))
    }

    /// Requests the user to whom a username belongs.
    pub(in crate::app) fn holder(&mut self, username: &Username) -> HolderTicket {
        if self.app.store().has_cache() {
            return self.missed.holder(self.app.store(), username);
        }
        HolderTicket::Stored(self.push(name::holder(self.keys(), username)))
    }

    /// Requests these users' regions.
    pub(in crate::app) fn regions(&mut self, users: &[UserId]) {
        self.shared.residents.extend(users);
    }

    /// Requests a sample of the followers of a user who has `count` followers. The more users a batch
    /// samples, the smaller each sample is.
    pub(in crate::app) fn sample(&mut self, user: UserId, count: u64) -> Sample {
        self.shared.sample(user, count)
    }
}

/// The replies to a batch, and the data to fetch from the archive.
pub struct Responses {
    now: Timestamp,
    pub(in crate::app) replies: Replies,
    shared: SharedReplies,
    missed: Result<Missed, Error>,
    pub(in crate::app) wanted: Wanted,
    /// Authors whose hot posts have no creation times.
    untimed: BTreeSet<UserId>,
}

impl Responses {
    /// Returns the time at which decoding of the replies began.
    pub(in crate::app) fn now(&self) -> Timestamp {
        self.now
    }

    /// Records that an author's hot posts have no creation times. They are written, and the read is repeated. Returns
    /// the error of the read if they are still missing then.
    pub(in crate::app) fn lack_times(&mut self, author: UserId) -> Error {
        self.untimed.insert(author);
        store::error::Error::times_unknown().into()
    }
}

/// A value that is complete once Redis, and for some reads the archive, has replied.
pub struct Pending<V>(Decode<V>);

type Decode<V> = Box<dyn FnOnce(&mut Responses) -> Result<Decoded<V>, Error> + Send>;

/// A value after Redis has replied.
enum Decoded<V> {
    Complete(V),
    /// A value that still needs data from the archive.
    Partial(Complete<V>),
}

type Complete<V> = Box<dyn FnOnce(&Found) -> Result<V, Error> + Send>;

impl<V: 'static> Pending<V> {
    /// Creates a value that needs only the replies from Redis.
    pub(in crate::app) fn hot(
        decode: impl FnOnce(&mut Responses) -> Result<V, Error> + Send + 'static,
    ) -> Self {
        Self(Box::new(move |responses| decode(responses).map(Decoded::Complete)))
    }

    /// Creates a value that also needs data from the archive. `decode` requests that data in
    /// `Responses::wanted`.
    pub(in crate::app) fn cold<F>(
        decode: impl FnOnce(&mut Responses) -> Result<F, Error> + Send + 'static,
    ) -> Self
    where
        F: FnOnce(&Found) -> Result<V, Error> + Send + 'static,
    {
        Self(Box::new(move |responses| {
            let complete = decode(responses)?;
            Ok(Decoded::Partial(Box::new(complete)))
        }))
    }

    /// Combines values into a list, which fails if one of them fails.
    fn all(pending: Vec<Self>) -> Pending<Arc<[V]>>
    where
        V: Send,
    {
        Pending::cold(move |responses| {
            let decoded = pending.into_iter().map(|pending| (pending.0)(responses));
            let decoded = decoded.collect::<Result<Vec<_>, Error>>()?;
            Ok(move |found: &Found| decoded.into_iter().map(|decoded| decoded.complete(found)).collect())
        })
    }

    fn erase(self) -> Pending<AnyValue>
    where
        V: Send + Sync,
    {
        let erase = |value: V| Arc::new(value) as AnyValue;
        Pending(Box::new(move |responses| {
            Ok(match (self.0)(responses)? {
                Decoded::Complete(value) => Decoded::Complete(erase(value)),
                Decoded::Partial(complete) => {
                    Decoded::Partial(Box::new(move |found| complete(found).map(erase)))
                }
            })
        }))
    }
}

impl Pending<AnyValue> {
    fn decode(self, responses: &mut Responses) -> Result<Decoded<AnyValue>, Error> {
        (self.0)(responses)
    }
}

impl<V> Decoded<V> {
    fn complete(self, found: &Found) -> Result<V, Error> {
        match self {
            Self::Complete(value) => Ok(value),
            Self::Partial(complete) => complete(found),
        }
    }
}

/// A read with its type erased.
#[derive(Clone)]
pub struct AnyRead(Arc<dyn Erased>);

/// The value of a type-erased read.
type AnyValue = Arc<dyn Any + Send + Sync>;

/// The value of a type-erased read, or its error. Cheap to clone.
#[derive(Clone)]
pub struct AnyResult(Result<AnyValue, Error>);

trait Erased: Any + Send + Sync {
    fn request(&self, requests: &mut Requests<'_>) -> Pending<AnyValue>;
    fn equals(&self, other: &dyn Erased) -> bool;
    fn hash(&self, state: &mut dyn Hasher);
}

impl<R: Read> Erased for R {
    fn request(&self, requests: &mut Requests<'_>) -> Pending<AnyValue> {
        Read::request(self, requests).erase()
    }

    fn equals(&self, other: &dyn Erased) -> bool {
        (other as &dyn Any).downcast_ref::<R>() == Some(self)
    }

    fn hash(&self, mut state: &mut dyn Hasher) {
        self.type_id().hash(&mut state);
        Hash::hash(self, &mut state);
    }
}

impl AnyRead {
    /// Erases the type of a read.
    pub fn new(read: impl Read) -> Self {
        Self(Arc::new(read))
    }
}

impl AnyResult {
    /// Returns the result as `R::Value`.
    ///
    /// # Panics
    /// If the result belongs to a read of another type.
    pub fn of<R: Read>(self) -> Result<R::Value, Error> {
        let value = self.0?;
        let value = value.downcast_ref::<R::Value>();
        Ok(value.unwrap_or_else(|| unreachable!("the value of another read")).clone())
    }
}

/// Writes only the type's name, because the loader formats every read that it has no value for.
impl fmt::Debug for AnyRead {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.write_str("AnyRead")
    }
}

impl PartialEq for AnyRead {
    fn eq(&self, other: &Self) -> bool {
        self.0.equals(&*other.0)
    }
}

impl Eq for AnyRead {}

impl Hash for AnyRead {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.hash(state);
    }
}

/// A shared list. Comparison is by identity, at constant cost: a list equals only itself.
#[derive(Clone, Debug)]
pub struct Shared<T>(pub Arc<[T]>);

impl<T> PartialEq for Shared<T> {
    fn eq(&self, other: &Self) -> bool {
        Arc::ptr_eq(&self.0, &other.0)
    }
}

impl<T> Eq for Shared<T> {}

impl<T> Hash for Shared<T> {
    fn hash<H: Hasher>(&self, state: &mut H) {
        self.0.as_ptr().hash(state);
    }
}

impl App {
    /// Performs all of these reads. Makes one round trip, at the same time another one for what the cache lacks,
    /// and then at most one query of each kind if the archive is needed. Reads them again if an earlier version has
    /// published posts without their creation times.
    pub async fn read_all(&self, reads: &[AnyRead]) -> HashMap<AnyRead, AnyResult> {
        let (results, untimed) = self.read_once(reads).await;
        if untimed.is_empty() {
            return results;
        }
        let write = async {
            for author in untimed {
                self.write_times(author).await?;
            }
            Ok::<(), Error>(())
        };
        // This benefits all later reads, so this operation's budget does not limit it.
        match budget::unlimited(write).boxed().await {
            Ok(()) => self.read_once(reads).boxed().await.0,
            Err(error) => {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "the creation times of an author's posts could not be written");
                results
            }
        }
    }

    /// Performs all of these reads once. Also returns the authors whose hot posts have no creation times.
    async fn read_once(&self, reads: &[AnyRead]) -> (HashMap<AnyRead, AnyResult>, BTreeSet<UserId>) {
        let mut requests = Requests {
            app: self,
            batch: Batch::new("read"),
            shared: SharedRequests::default(),
            missed: Missing::default(),
        };
        let pending: Vec<_> = reads.iter().map(|read| read.0.request(&mut requests)).collect();
        let Requests { mut batch, shared, missed, .. } = requests;
        let shared = shared.push(self, &mut batch);
        self.1.apply(&mut batch);
        let (sent, missed) = join(batch.send(self.store()), missed.read(self.store())).await;
        let mut replies = match sent {
            Ok(replies) => replies,
            Err(error) => {
                let error = Error::from(error);
                let failed = |read: &AnyRead| (read.clone(), AnyResult(Err(error.clone())));
                return (reads.iter().map(failed).collect(), BTreeSet::new());
            }
        };
        let shared = shared.take(self, &mut replies).await;
        let now = self.now();
        let (wanted, untimed) = (Wanted::default(), BTreeSet::new());
        let mut responses = Responses { now, replies, shared, missed, wanted, untimed };
        let decoded: Vec<_> = pending.into_iter().map(|pending| pending.decode(&mut responses)).collect();
        let found = self.ask_archive(responses.wanted).await;
        let complete = |decoded: Result<Decoded<AnyValue>, Error>| {
            AnyResult(decoded.and_then(|decoded| decoded.complete(&found)))
        };
        let results = reads.iter().cloned().zip(decoded.into_iter().map(complete)).collect();
        (results, responses.untimed)
    }
}

impl Load for App {
    async fn load<R: Read>(&self, read: R) -> Result<R::Value, Error> {
        let read = AnyRead::new(read);
        take::<R>(&self.read_all(std::slice::from_ref(&read)).await, &read)
    }

    async fn load_both<A: Read, B: Read>(&self, one: A, other: B) -> Result<(A::Value, B::Value), Error> {
        let [one, other] = [AnyRead::new(one), AnyRead::new(other)];
        let values = self.read_all(&[one.clone(), other.clone()]).await;
        Ok((take::<A>(&values, &one)?, take::<B>(&values, &other)?))
    }
}

fn take<R: Read>(values: &HashMap<AnyRead, AnyResult>, read: &AnyRead) -> Result<R::Value, Error> {
    values[read].clone().of::<R>()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::archive::Listed;
    use crate::app::post::read::PostRecords;
    use crate::app::region::read::Regions;
    use crate::app::relation::read::Relations;
    use crate::app::user::read::UserRecords;
    use crate::model::id::PostId;
    use crate::model::user::UserFields;

    fn shared<T: Clone>(entry: &T) -> Shared<T> {
        Shared(vec![entry.clone(); 5_000].into())
    }

    #[test]
    fn the_debug_output_of_a_read_is_short_however_many_entries_it_has() {
        let user = UserId::MAX;
        let post = Listed::Id(PostId::new(u64::MAX >> 1).unwrap());
        let reads = [
            AnyRead::new(UserRecords { users: shared(&user), fields: UserFields::RESIDENCE }),
            AnyRead::new(Regions(shared(&user))),
            AnyRead::new(Relations { viewer: user, others: shared(&user) }),
            AnyRead::new(PostRecords { posts: shared(&post), needs_archive: true }),
        ];
        for read in reads {
            let printed = format!("{read:?}");
            assert!(printed.len() < 200, "{} bytes", printed.len());
        }
    }

    #[test]
    fn reads_of_different_types_or_lists_are_different_keys() {
        let users = shared(&UserId::MAX);
        let regions = AnyRead::new(Regions(users.clone()));
        assert_eq!(regions, AnyRead::new(Regions(users.clone())));
        assert_ne!(regions, AnyRead::new(Regions(shared(&UserId::MAX))));
        assert_ne!(regions, AnyRead::new(UserRecords { users, fields: UserFields::NONE }));
    }
}
