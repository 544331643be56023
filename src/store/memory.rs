//! Memory usage of stored data. Only reads.
//!
//! Not here: the selection of samples (`app::memory`), or the comparison with other layouts
//! (`benches/memory.rs`).

use crate::model::id::{PostId, UserId};
use crate::store::command::{Builder, Command, command, several};
use crate::store::key::row::Row;
use crate::store::key::{Key, Keys, Kind, List, OrderedSet, Sharded, SortedSet};
use crate::store::region::USERS_PER_SHARD;

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

/// What is measured of a compact set: the bytes of its sorted set, of its lists, of its number and of its root; the
/// encodings of the sorted set and of the lists; the length of the sorted set; the number of members, and that of those
/// in the root.
type Parts = (Bytes, Bytes, Bytes, Bytes, Bytes, Option<String>, Option<String>, u64, Option<u64>, u64);
type Bytes = Option<u64>;

/// Measures a compact set, given the key of its sorted set, and those of its lists. In other shards, a member takes
/// about as many bytes as in the root.
fn measure_set<Set: Sharded>(
    set: &Key<Set>,
    order: &Key<SortedSet>,
    lists: Option<&[Key<List>; 2]>,
) -> Command<Option<KeyUsage>> {
    let (count, root) = (set.count(), set.shard(0));
    let usage = |key: Builder| key.arg("SAMPLES").arg(SAMPLES);
    let bytes = || command("MEMORY").arg("USAGE");
    let encoding = || command("OBJECT").arg("ENCODING");
    let [posts, times, encoding_of_lists] = match lists {
        Some([posts, times]) => [bytes().key(posts), bytes().key(times), encoding().key(posts)],
        // A key that does not exist has no bytes.
        None => [
            bytes().key(&set.shard(u32::MAX)),
            bytes().key(&set.shard(u32::MAX)),
            encoding().key(&set.shard(u32::MAX)),
        ],
    };
    let parts = several(&[
        usage(bytes().key(order)),
        usage(posts),
        usage(times),
        usage(bytes().key(&count)),
        usage(bytes().key(&root)),
        encoding().key(order),
        encoding_of_lists,
        command("ZCARD").key(order),
        command("GET").key(&count),
        command("SCARD").key(&root),
    ]);
    parts.map(|(order, posts, times, count, root, encoding, of_lists, few, members, in_root): Parts| {
        let in_tree = members.map_or(0, |members| root.unwrap_or(0) * members / in_root.max(1));
        let bytes = [order, posts, times, count].into_iter().flatten().sum::<u64>() + in_tree;
        let items = members.unwrap_or(few);
        Ok(encoding.or(of_lists).map(|encoding| KeyUsage { bytes, items, encoding }))
    })
}

fn measure<K>(key: &Key<K>, count: &str, seals: u64) -> Command<Option<KeyUsage>> {
    let bytes = command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES);
    let encoding = command("OBJECT").arg("ENCODING").key(key);
    let usage = several(&[bytes, encoding, command(count).key(key)]);
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
