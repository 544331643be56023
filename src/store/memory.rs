//! Memory usage of stored data. Only reads.
//!
//! Not here: the selection of samples (`app::memory`), or the comparison with other layouts
//! (`benches/memory.rs`).

use crate::model::id::UserId;
use crate::store::command::{Command, command, several};
use crate::store::key::{CompactSet, Hash, Key, List, Packed, Set, SortedSet};
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

/// A kind of key whose items Redis counts.
pub trait Countable {
    /// The command that counts them.
    const COUNT: &'static str;
}

impl Countable for SortedSet {
    const COUNT: &'static str = "ZCARD";
}

impl Countable for Hash {
    const COUNT: &'static str = "HLEN";
}

impl Countable for Set {
    const COUNT: &'static str = "SCARD";
}

impl Countable for List {
    const COUNT: &'static str = "LLEN";
}

/// The items are the newest members.
impl Countable for CompactSet {
    const COUNT: &'static str = SortedSet::COUNT;
}

/// The items are bytes.
impl Countable for Packed {
    const COUNT: &'static str = "STRLEN";
}

/// Measures a key whose elements are the items; `None` if it does not exist.
pub fn usage<Kind: Countable>(key: &Key<Kind>) -> Command<Option<KeyUsage>> {
    measure(key, Kind::COUNT)
}

/// Measures a record, which is one item.
pub fn record(key: &Key<Hash>) -> Command<Option<KeyUsage>> {
    measure(key, "EXISTS")
}

/// Measures a home timeline, whose last element is the seal.
pub fn timeline(key: &Key<List>) -> Command<Option<KeyUsage>> {
    let entries = |usage: KeyUsage| KeyUsage { items: usage.items.saturating_sub(1), ..usage };
    usage(key).map(move |usage| Ok(usage.map(entries)))
}

fn measure<Kind>(key: &Key<Kind>, count: &str) -> Command<Option<KeyUsage>> {
    let bytes = command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES);
    let encoding = command("OBJECT").arg("ENCODING").key(key);
    let usage = several(&[bytes, encoding, command(count).key(key)]);
    usage.map(|(bytes, encoding, items): (Option<u64>, Option<String>, u64)| {
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
