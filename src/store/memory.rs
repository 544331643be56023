//! How much memory things take, and what they would take if they were kept in a simpler way.
//!
//! Not here: which things are looked at (`app::memory`).

use crate::model::id::{PostId, UserId};
use crate::model::relation::Side;
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::key::{Key, Keys, Layout, Text};
use crate::store::region::USERS_PER_SHARD;
use crate::store::relation::list;
use crate::store::script;

/// How many elements Redis looks at where a key is not packed.
const SAMPLES: usize = 50;
/// For how long what is kept in a simpler way may stay if whoever measures it is cut off, in seconds.
const SECONDS: u64 = 60;

/// What a key takes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct KeyUsage {
    /// Bytes, with the key's name and place.
    pub bytes: u64,
    /// How many things it holds.
    pub items: u64,
    /// How Redis keeps it; empty if there is no such key.
    pub encoding: String,
}

/// What a key takes, whose things are counted by this command; of which some are something else.
fn usage<Kind>(key: &Key<Kind>, count: &str, others: u64) -> Command<Option<KeyUsage>> {
    let bytes = command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES);
    let encoding = command("OBJECT").arg("ENCODING").key(key);
    let asked = several(vec![bytes, encoding, command(count).key(key)]);
    asked.map(move |(bytes, encoding, items): (Option<u64>, Option<String>, u64)| {
        let usage = bytes.zip(encoding);
        Ok(usage.map(|(bytes, encoding)| KeyUsage { bytes, items: items.saturating_sub(others), encoding }))
    })
}

/// What one of a user's lists takes.
pub fn follows(keys: &Keys, user: UserId, side: Side) -> Command<Option<KeyUsage>> {
    usage(&list(keys, user, side), "ZCARD", 0)
}

/// What a home timeline takes.
pub fn timeline(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    const SEAL: u64 = 1;
    usage(&keys.timeline(user), "LLEN", SEAL)
}

/// The ids in a home timeline.
pub fn timeline_entries(keys: &Keys, user: UserId) -> Command<Vec<u64>> {
    command("LRANGE").key(&keys.timeline(user)).arg(0).arg(-2).reply()
}

/// What a user's record takes.
pub fn user(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.user(user), "EXISTS", 0)
}

/// What a shard of the username index takes.
pub fn names(keys: &Keys, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.names(shard), "HLEN", 0)
}

/// What a post's record takes.
pub fn post(keys: &Keys, post: PostId) -> Command<Option<KeyUsage>> {
    usage(&keys.post(post), "EXISTS", 0)
}

/// What a shard of the visits of a day takes.
pub fn visits(keys: &Keys, layout: Layout, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.visits(layout, shard), "SCARD", 0)
}

/// Who is in a shard of the visits of a day.
pub fn visitors(keys: &Keys, layout: Layout, shard: u32) -> Command<Vec<u64>> {
    command("SMEMBERS").key(&keys.visits(layout, shard)).reply()
}

/// What a shard of the regions takes. Counted are bytes.
pub fn regions(keys: &Keys, shard: u64) -> Command<Option<KeyUsage>> {
    usage(&keys.regions(shard), "STRLEN", 0)
}

/// The users whose regions are in a shard.
pub fn users_of_regions(shard: u64) -> impl Iterator<Item = UserId> {
    (shard * USERS_PER_SHARD..(shard + 1) * USERS_PER_SHARD).filter_map(UserId::new)
}

/// How many shards hold the regions of users up to this id.
#[must_use]
pub fn region_shards(last: u64) -> u64 {
    last / USERS_PER_SHARD + 1
}

/// A simpler way to keep something.
#[derive(Clone, Debug)]
pub enum Plain {
    /// A text.
    Text(String),
    /// A sorted set.
    SortedSet(Vec<(String, i64)>),
    /// A set.
    Set(Vec<u64>),
    /// A `HyperLogLog`, which knows about how many there are, but not who.
    HyperLogLog(Vec<u64>),
}

/// Keeps something for a moment in a simpler way, under this name.
pub fn write_plain(keys: &Keys, name: &str, plain: &Plain) -> Command<Vec<()>> {
    /// Most members that are added by one command.
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

/// What is kept under this name takes, in bytes.
pub fn plain_usage(keys: &Keys, name: &str) -> Command<Option<u64>> {
    command("MEMORY").arg("USAGE").key(&keys.plain::<Text>(name)).arg("SAMPLES").arg(SAMPLES).reply()
}

/// Keeps it no more.
pub fn remove_plain(keys: &Keys, name: &str) -> Command<i64> {
    command("UNLINK").key(&keys.plain::<Text>(name)).reply()
}

/// Begins to measure, or goes on, unless somebody else does. It ends by itself after a minute.
pub fn begin(keys: &Keys, nonce: u64) -> Command<bool> {
    call(&script::BEGIN_MEASURING).key(&keys.measuring()).arg(format!("{nonce:x}")).arg(SECONDS).reply()
}

/// Ends it.
pub fn end(keys: &Keys, nonce: u64) -> Command<bool> {
    call(&script::END_MEASURING).key(&keys.measuring()).arg(format!("{nonce:x}")).reply()
}

/// Bytes that Redis uses in all.
pub fn used() -> Command<Option<u64>> {
    let info = command("INFO").arg("memory").reply::<redis::InfoDict>();
    info.map(|info| Ok(info.get("used_memory")))
}
