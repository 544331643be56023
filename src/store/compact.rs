//! Compact sets: sets of users that may be very large, in five bytes a member, of which the newest are known.
//!
//! A small set is a sorted set by time. From the 129th member on, all members are in a tree of shards (see
//! [`crate::store::tree`]), and the sorted set orders the newest of them only. The times of older members are
//! forgotten. Each operation is one script, so that the number of members always equals the length of the set.
//!
//! Not here: what the sets are for, and sets of posts (`store::ordered`), which share the tree and the number of
//! members.

use std::fmt;

use redis::{FromRedisValue, ParsingError, Value};

use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::Follow;
use crate::store::command::{Builder, Command, call, command};
use crate::store::key::{CompactSet, Key, Keys, Sharded};
use crate::store::relation::Follows;
use crate::store::script;
use crate::store::tree::{BRANCHES, GENERATIONS, ROOM, Shard, is_closed};

/// Number of the newest members whose order is known. The same as in `store/lua/part/members.lua`.
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

/// Adds the keys of the newest members and of the number of members to a script's.
fn begin(set: &Key<CompactSet>, call: Builder) -> Builder {
    call.key(&set.newest()).key(&set.count())
}

/// Adds the keys of these shards to a script's.
fn with_shards<Set: Sharded>(set: &Key<Set>, call: Builder, shards: impl Iterator<Item = u32>) -> Builder {
    shards.fold(call, |call, shard| call.key(&set.shard(shard)))
}

/// Adds the keys of the shards that may contain these members to a script's, for each member from the root down.
pub(super) fn with_paths<Set: Sharded>(
    set: &Key<Set>,
    call: Builder,
    members: impl Iterator<Item = impl fmt::Display>,
) -> Builder {
    members.fold(call, |call, member| with_shards(set, call, Shard::all_of(member).map(Shard::index)))
}

/// Adds all keys with which a script looks up or changes these members: those of the newest members and of the number
/// of members, and for each member those of the shards that may contain it.
pub(super) fn with_keys(
    set: &Key<CompactSet>,
    call: Builder,
    members: impl Iterator<Item = UserId>,
) -> Builder {
    with_paths(set, begin(set, call), members)
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
pub fn add(set: &Key<CompactSet>, member: UserId, at: Timestamp) -> Command<bool> {
    let add = with_keys(set, call(&script::ADD_TO_SET), std::iter::once(member));
    add.arg(member.get()).arg(at.as_millis()).arg(ROOM).reply()
}

/// Removes a member. Returns true if the set changed.
pub fn remove(set: &Key<CompactSet>, member: UserId) -> Command<bool> {
    let remove = with_keys(set, call(&script::REMOVE_FROM_SET), std::iter::once(member));
    remove.arg(member.get()).arg(ROOM).reply()
}

/// Reads all members, in no particular order; `None` if there are more than `most`, at most [`MOST_MEMBERS`].
pub fn all(keys: &Keys, set: Key<CompactSet>, most: usize) -> Command<Option<Vec<UserId>>> {
    let read = with_shards(&set, begin(&set, call(&script::ALL_OF_SET)), 0..SHARDS_READ)
        .arg(most.min(MOST_MEMBERS))
        .arg(ROOM)
        .arg(BRANCHES);
    let users = |members: Vec<u64>| members.into_iter().filter_map(UserId::new).collect();
    let read = read.reply::<Option<Vec<u64>>>().map(move |members| Ok(members.map(users)));
    let apart = move |_: &Keys| {
        let newest = command("ZRANGE").key(&set.newest()).arg(0).arg(-1);
        let count = command("GET").key(&set.count());
        let shards = (0..SHARDS_READ).map(|shard| command("SMEMBERS").key(&set.shard(shard)));
        [newest, count].into_iter().chain(shards).collect()
    };
    read.or_apart(keys, apart, move |Apart { newest, count, shards }| {
        let Some(count) = count else { return Ok(Some(users(newest))) };
        let is_deeper = shards[SHARDS_READ as usize - LAST_READ..].iter().any(|shard| is_closed(shard));
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
pub fn newest(set: &Key<CompactSet>, size: usize) -> Command<Newest> {
    let read = begin(set, call(&script::NEWEST_OF_SET)).arg(size);
    let read = read.reply::<(u64, Follows)>().walking(size.min(NEWEST));
    read.map(|(count, Follows(members))| Ok(Newest { count, members }))
}

/// Returns for each of `others`, in the given order, true if the set contains them. Not charged, since the viewer may
/// not see all of `others`: the list that has them is.
///
/// # Panics
/// If there are more than [`PROBE`].
pub fn contains(set: &Key<CompactSet>, others: &[UserId]) -> Command<Vec<bool>> {
    assert!(others.len() <= PROBE, "a probe has {PROBE} members at most");
    let probe = with_keys(set, call(&script::PROBE_SET), others.iter().copied());
    let probe = probe.arg(GENERATIONS).arg(ROOM).args(others.iter().map(|other| other.get()));
    probe.reply().uncharged()
}
