//! Compact sets: sets of users that may be very large, in five bytes a member, of which the newest are known.
//!
//! A small set is a sorted set by time. From the 129th member on, all members are in a tree of shards (see
//! [`crate::store::tree`]), and the sorted set orders the newest of them only. The times of older members are
//! forgotten. Each operation is one script, so that the number of members always equals the length of the set.
//!
//! Not here: what the sets are for.

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::Follow;
use crate::store::command::{Builder, Command, call, command};
use crate::store::key::Keys;
use crate::store::relation::Follows;
use crate::store::script;
use crate::store::tree::{BRANCHES, GENERATIONS, ROOM, Shard};

/// Number of the newest members whose order is known. The same as in `store/lua/part/compact.lua`.
pub const NEWEST: usize = 128;
/// Maximum number of members that one command looks up, each in [`GENERATIONS`] shards.
pub const PROBE: usize = 100;

/// Number of shards on the fourth level of a tree.
const LAST_READ: usize = 64;
/// Number of shards on the first four levels.
const SHARDS_READ: u32 = 1 + 4 + 16 + 64;
/// Maximum number of members that one command reads. The shards of the first three levels have room for about twice as
/// many, if the members are evenly distributed.
pub const MOST_MEMBERS: usize = 5_000;

/// A compact set, by what it contains.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CompactSet {
    /// The users who block this user.
    Blockers(UserId),
}

impl CompactSet {
    /// Returns the user to whom the set belongs.
    fn owner(self) -> UserId {
        let Self::Blockers(user) = self;
        user
    }

    /// Adds the keys of the newest members and of the number of members to a script's.
    fn begin(self, keys: &Keys, call: Builder) -> Builder {
        let Self::Blockers(user) = self;
        call.key(&keys.blockers(user)).key(&keys.blocker_count(user))
    }

    /// Adds the keys of these shards to a script's.
    fn shards(self, keys: &Keys, call: Builder, shards: impl Iterator<Item = u32>) -> Builder {
        let Self::Blockers(user) = self;
        shards.fold(call, |call, shard| call.key(&keys.blocker_shard(user, shard)))
    }

    /// Adds all keys with which a script looks up or changes these members: those of the newest members and of the
    /// number of members, and for each member those of the shards that may contain it.
    pub(super) fn keys(self, keys: &Keys, call: Builder, members: impl Iterator<Item = UserId>) -> Builder {
        let path = |call, member| self.shards(keys, call, Shard::all_of(member).map(Shard::index));
        members.fold(self.begin(keys, call), path)
    }
}

/// The newest members of a set.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Newest {
    /// Number of all members.
    pub count: u64,
    /// The newest members, newest first: at most [`NEWEST`], and fewer if some of them have been removed.
    pub members: Vec<Follow>,
}

/// Adds a member with the time `at`. A member that the set contains keeps its time. Returns true if the set changed.
pub fn add(keys: &Keys, set: CompactSet, member: UserId, at: Timestamp) -> Command<bool> {
    let add = set.keys(keys, call(&script::ADD_TO_SET), std::iter::once(member));
    add.arg(member.get()).arg(at.as_millis()).arg(ROOM).reply()
}

/// Removes a member. Returns true if the set changed.
pub fn remove(keys: &Keys, set: CompactSet, member: UserId) -> Command<bool> {
    let remove = set.keys(keys, call(&script::REMOVE_FROM_SET), std::iter::once(member));
    remove.arg(member.get()).arg(ROOM).reply()
}

/// Reads all members, in no particular order; `None` if there are more than `most`, at most [`MOST_MEMBERS`].
pub fn all(keys: &Keys, set: CompactSet, most: usize) -> Command<Option<Vec<UserId>>> {
    let read = set.begin(keys, call(&script::ALL_OF_SET));
    let read = set.shards(keys, read, 0..SHARDS_READ).arg(most.min(MOST_MEMBERS)).arg(ROOM).arg(BRANCHES);
    let users = |members: Vec<u64>| members.into_iter().filter_map(UserId::new).collect();
    let read = read.reply::<Option<Vec<u64>>>().map(move |members| Ok(members.map(users)));
    let apart = move |keys: &Keys| {
        let newest = command("ZRANGE").key(&keys.blockers(set.owner())).arg(0).arg(-1);
        let count = command("GET").key(&keys.blocker_count(set.owner()));
        let shards = (0..SHARDS_READ).map(|shard| keys.blocker_shard(set.owner(), shard));
        let shards = shards.map(|shard| command("SMEMBERS").key(&shard));
        [newest, count].into_iter().chain(shards).collect()
    };
    read.or_apart(keys, apart, move |Apart { newest, count, shards }| {
        let Some(count) = count else { return Ok(Some(users(newest))) };
        let is_closed = |shard: &Vec<u64>| shard.len() >= ROOM || shard.contains(&0);
        let is_deeper = shards[SHARDS_READ as usize - LAST_READ..].iter().any(is_closed);
        Ok((count <= most as u64 && !is_deeper).then(|| users(shards.concat())))
    })
}

/// The parts of a compact set, read one by one.
struct Apart {
    newest: Vec<u64>,
    count: Option<u64>,
    shards: Vec<Vec<u64>>,
}

impl FromRedisValue for Apart {
    fn from_redis_value(value: Value) -> Result<Self, ParsingError> {
        let mut parts = Vec::<Value>::from_redis_value(value)?.into_iter();
        let mut next = || parts.next().unwrap_or(Value::Nil);
        let (newest, count) =
            (FromRedisValue::from_redis_value(next())?, FromRedisValue::from_redis_value(next())?);
        let shards = parts.map(FromRedisValue::from_redis_value).collect::<Result<_, _>>()?;
        Ok(Self { newest, count, shards })
    }
}

/// Reads the number of members, and up to `size` of the newest.
pub fn newest(keys: &Keys, set: CompactSet, size: usize) -> Command<Newest> {
    let read = set.begin(keys, call(&script::NEWEST_OF_SET)).arg(size);
    let read = read.reply::<(u64, Follows)>().walking(size.min(NEWEST));
    read.map(|(count, Follows(members))| Ok(Newest { count, members }))
}

/// Returns for each of `others`, in the given order, true if the set contains them.
///
/// # Panics
/// If there are more than [`PROBE`].
pub fn contains(keys: &Keys, set: CompactSet, others: &[UserId]) -> Command<Vec<bool>> {
    assert!(others.len() <= PROBE, "a probe has {PROBE} members at most");
    let probe = set.keys(keys, call(&script::PROBE_SET), others.iter().copied());
    let probe = probe.arg(GENERATIONS).arg(ROOM).args(others.iter().map(|other| other.get()));
    probe.reply().probing(others.len() * GENERATIONS as usize)
}
