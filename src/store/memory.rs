//! Memory usage of stored data, and of the same data in simpler encodings for comparison.
//!
//! Not here: the selection of samples (`app::memory`).

use crate::model::id::{PostId, UserId};
use crate::model::relation::Side;
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::key::{Key, Keys, Layout, Text};
use crate::store::region::USERS_PER_SHARD;
use crate::store::relation::list;
use crate::store::script;

/// Number of elements that Redis samples in a key that is not packed.
const SAMPLES: usize = 50;
/// Lifetime of comparison data if the measuring process is interrupted, in seconds.
const SECONDS: u64 = 60;

/// Memory usage of a key.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyUsage {
    /// Bytes, including the key's name and overhead.
    pub bytes: u64,
    /// Number of items it holds.
    pub items: u64,
    /// The Redis encoding; empty if the key does not exist.
    pub encoding: String,
}

/// Measures a key whose items are counted by the `count` command; `others` of the elements are not items.
fn usage<Kind>(key: &Key<Kind>, count: &str, others: u64) -> Command<Option<KeyUsage>> {
    let bytes = command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES);
    let encoding = command("OBJECT").arg("ENCODING").key(key);
    let asked = several(vec![bytes, encoding, command(count).key(key)]);
    asked.map(move |(bytes, encoding, items): (Option<u64>, Option<String>, u64)| {
        let usage = bytes.zip(encoding);
        Ok(usage.map(|(bytes, encoding)| KeyUsage { bytes, items: items.saturating_sub(others), encoding }))
    })
}

/// Measures one of a user's lists.
pub fn follows(keys: &Keys, user: UserId, side: Side) -> Command<Option<KeyUsage>> {
    usage(&list(keys, user, side), "ZCARD", 0)
}

/// Measures a home timeline.
pub fn timeline(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    const SEAL: u64 = 1;
    usage(&keys.timeline(user), "LLEN", SEAL)
}

/// Reads the ids in a home timeline.
pub fn timeline_entries(keys: &Keys, user: UserId) -> Command<Vec<u64>> {
    command("LRANGE").key(&keys.timeline(user)).arg(0).arg(-2).reply()
}

/// Measures a user's record.
pub fn user(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.user(user), "EXISTS", 0)
}

/// Measures a shard of the username index.
pub fn names(keys: &Keys, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.names(shard), "HLEN", 0)
}

/// Measures a post's record.
pub fn post(keys: &Keys, post: PostId) -> Command<Option<KeyUsage>> {
    usage(&keys.post(post), "EXISTS", 0)
}

/// Measures a shard of the visits of a day.
pub fn visits(keys: &Keys, layout: Layout, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.visits(layout, shard), "SCARD", 0)
}

/// Reads the visitors in a shard of a day.
pub fn visitors(keys: &Keys, layout: Layout, shard: u32) -> Command<Vec<u64>> {
    command("SMEMBERS").key(&keys.visits(layout, shard)).reply()
}

/// Measures a shard of the regions. The items are bytes.
pub fn regions(keys: &Keys, shard: u64) -> Command<Option<KeyUsage>> {
    usage(&keys.regions(shard), "STRLEN", 0)
}

/// Returns the users whose regions are in a shard.
pub fn users_of_regions(shard: u64) -> impl Iterator<Item = UserId> {
    (shard * USERS_PER_SHARD..(shard + 1) * USERS_PER_SHARD).filter_map(UserId::new)
}

/// Returns the number of shards that hold the regions of users up to this id.
#[must_use]
pub fn region_shards(last: u64) -> u64 {
    last / USERS_PER_SHARD + 1
}

/// Data in a simpler encoding.
#[derive(Clone, Debug)]
pub enum Plain {
    /// A text.
    Text(String),
    /// A sorted set.
    SortedSet(Vec<(String, i64)>),
    /// A set.
    Set(Vec<u64>),
    /// A `HyperLogLog`, which estimates the number of distinct members but does not list them.
    HyperLogLog(Vec<u64>),
}

/// Temporarily stores data in a simpler encoding, under this name.
pub fn write_plain(keys: &Keys, name: &str, plain: &Plain) -> Command<Vec<()>> {
    /// Maximum number of members added by one command.
    const MEMBERS: usize = 1_000;
    let key = keys.plain::<Text>(name);
    let mut commands: Vec<_> = match plain {
        Plain::Text(text) => vec![command("SET").key(&key).arg(text)],
        Plain::SortedSet(members) => {
            let add = |members: &[(String, i64)]| {
                let pairs = members.iter().map(|(member, score)| (score, member));
                command("ZADD").key(&key).args(pairs)
            };
            members.chunks(MEMBERS).map(add).collect()
        }
        Plain::Set(ids) => ids.chunks(MEMBERS).map(|ids| command("SADD").key(&key).args(ids)).collect(),
        Plain::HyperLogLog(ids) => {
            ids.chunks(MEMBERS).map(|ids| command("PFADD").key(&key).args(ids)).collect()
        }
    };
    commands.push(command("EXPIRE").key(&key).arg(SECONDS));
    transaction(commands)
}

/// Returns the memory usage of the data under this name, in bytes.
pub fn plain_usage(keys: &Keys, name: &str) -> Command<Option<u64>> {
    command("MEMORY").arg("USAGE").key(&keys.plain::<Text>(name)).arg("SAMPLES").arg(SAMPLES).reply()
}

/// Deletes the data under this name.
pub fn remove_plain(keys: &Keys, name: &str) -> Command<i64> {
    command("UNLINK").key(&keys.plain::<Text>(name)).reply()
}

/// Acquires or renews the measuring lock, unless another process holds it. The lock expires after a minute.
pub fn begin(keys: &Keys, nonce: u64) -> Command<bool> {
    call(&script::BEGIN_MEASURING).key(&keys.measuring()).arg(format!("{nonce:x}")).arg(SECONDS).reply()
}

/// Releases the measuring lock.
pub fn end(keys: &Keys, nonce: u64) -> Command<bool> {
    call(&script::END_MEASURING).key(&keys.measuring()).arg(format!("{nonce:x}")).reply()
}

/// Returns the total memory used by Redis, in bytes.
pub fn used() -> Command<Option<u64>> {
    let info = command("INFO").arg("memory").reply::<redis::InfoDict>();
    info.map(|info| Ok(info.get("used_memory")))
}
