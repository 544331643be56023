//! Memory usage of stored data. Only reads.
//!
//! Not here: the selection of samples (`app::memory`), or the comparison with other layouts
//! (`benches/memory.rs`).

use redis::{FromRedisValue, Value};

use crate::model::id::{PostId, UserId};
use crate::store::command::{Builder, Command, command, several};
use crate::store::error::Error;
use crate::store::key::row::Row;
use crate::store::key::{Key, Keys, Kind, List, OrderedSet, Sharded, SortedSet};
use crate::store::region::USERS_PER_SHARD;
use crate::store::tree::BRANCHES;

/// Number of elements that Redis samples to estimate the size of a key without a compact encoding.
const SAMPLES: usize = 50;

/// Memory usage of a key.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct KeyUsage {
    /// Bytes, including the key's name and overhead.
    pub bytes: u64,
    /// Number of items in the key.
    pub items: u64,
    /// The Redis encoding.
    pub encoding: String,
}

/// Measures a key; `None` if it does not exist.
pub fn usage<K: Kind>(key: &Key<K>) -> Command<Option<KeyUsage>> {
    measure(key, K::COUNT, K::SEALS)
}

/// Measures the key of this row, without arguments, in a user's slot; `None` if it does not exist.
pub fn usage_of_user(keys: &Keys, row: &Row, user: UserId) -> Command<Option<KeyUsage>> {
    if row.is_ordered_set() {
        return measure_ordered(&keys.ordered_of_user(row, user));
    }
    measure(&keys.of_user(row, user), row.count, row.seals)
}

/// Measures the likes of a hot post, with all parts of the set; `None` if no one likes it.
pub fn usage_of_likes(keys: &Keys, post: PostId) -> Command<Option<KeyUsage>> {
    let set = keys.likes(post);
    let newest = set.newest();
    measure_set(&set, &newest, None)
}

/// Measures an ordered compact set with all of its parts.
fn measure_ordered(set: &Key<OrderedSet>) -> Command<Option<KeyUsage>> {
    measure_set(set, &set.few(), Some(&[set.posts(), set.times()]))
}

/// Number of shards of a tree that are measured: the root, and those below it.
const MEASURED_SHARDS: u32 = 1 + BRANCHES;

/// Measures a compact set, given the key of its sorted set, and those of its lists. In the shards that are not
/// measured, a member takes about as many bytes as in the others.
fn measure_set<Set: Sharded>(
    set: &Key<Set>,
    order: &Key<SortedSet>,
    lists: Option<&[Key<List>; 2]>,
) -> Command<Option<KeyUsage>> {
    let shards: Vec<_> = (0..MEASURED_SHARDS).map(|index| set.shard(index)).collect();
    let (mut others, mut encodings) = (vec![bytes(order), bytes(&set.count())], vec![encoding(order)]);
    if let Some([posts, times]) = lists {
        others.extend([bytes(posts), bytes(times)]);
        encodings.push(encoding(posts));
    }
    encodings.push(encoding(&shards[0]));
    let numbers = [others.len(), shards.len(), 2, shards.len()];
    let sizes = [command("ZCARD").key(order), command("GET").key(&set.count())];
    let parts = others.into_iter().chain(shards.iter().map(bytes)).chain(sizes);
    let parts = parts.chain(shards.iter().map(|shard| command("SCARD").key(shard))).chain(encodings);
    several(&parts.collect::<Vec<_>>()).map(move |parts: Vec<Value>| {
        let mut parts = parts.into_iter();
        let mut take = |count| parts.by_ref().take(count).map(number).collect::<Result<Vec<_>, _>>();
        let [others, shards, sizes, in_shards] = numbers.map(&mut take);
        let (others, shards, in_shards) = (sum(&others?), sum(&shards?), sum(&in_shards?).max(1));
        let [few, members] = sizes?[..] else { return Err(Error::corrupt("the sizes of a set are two")) };
        let in_tree = shards * members.unwrap_or(0).max(in_shards) / in_shards;
        let encoding = parts.find_map(|part| Option::<String>::from_redis_value(part).ok().flatten());
        let items = members.or(few).unwrap_or(0);
        Ok(encoding.map(|encoding| KeyUsage { bytes: others + in_tree, items, encoding }))
    })
}

fn bytes<K>(key: &Key<K>) -> Builder {
    command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES)
}

fn encoding<K>(key: &Key<K>) -> Builder {
    command("OBJECT").arg("ENCODING").key(key)
}

fn number(part: Value) -> Result<Option<u64>, Error> {
    Ok(FromRedisValue::from_redis_value(part)?)
}

fn sum(numbers: &[Option<u64>]) -> u64 {
    numbers.iter().flatten().sum()
}

fn measure<K>(key: &Key<K>, count: &str, seals: u64) -> Command<Option<KeyUsage>> {
    let usage = several(&[bytes(key), encoding(key), command(count).key(key)]);
    usage.map(move |(bytes, encoding, elements): (Option<u64>, Option<String>, u64)| {
        let items = elements.saturating_sub(seals);
        Ok(bytes.zip(encoding).map(|(bytes, encoding)| KeyUsage { bytes, items, encoding }))
    })
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
