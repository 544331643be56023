//! Memory usage of stored data. Only reads.
//!
//! Not here: the selection of samples (`app::memory`), or the comparison with other layouts
//! (`benches/memory.rs`).

use crate::model::id::{PostId, UserId};
use crate::model::referrer::{EntryKind, ReferrerKind};
use crate::model::relation::Side;
use crate::store::command::{Command, command, several};
use crate::store::key::{Key, Keys, Layout};
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

/// Measures a key. The command `count` counts the key's elements, of which `markers` are not items.
fn usage<Kind>(key: &Key<Kind>, count: &str, markers: u64) -> Command<Option<KeyUsage>> {
    let bytes = command("MEMORY").arg("USAGE").key(key).arg("SAMPLES").arg(SAMPLES);
    let encoding = command("OBJECT").arg("ENCODING").key(key);
    let usage = several(&[bytes, encoding, command(count).key(key)]);
    usage.map(move |(bytes, encoding, elements): (Option<u64>, Option<String>, u64)| {
        let items = elements.saturating_sub(markers);
        Ok(bytes.zip(encoding).map(|(bytes, encoding)| KeyUsage { bytes, items, encoding }))
    })
}

/// Measures one of a user's lists of follows and requests to follow.
pub fn follows(keys: &Keys, user: UserId, side: Side) -> Command<Option<KeyUsage>> {
    usage(&keys.list(user, side), "ZCARD", 0)
}

/// Measures the mutes of a user.
pub fn mutes(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.muting(user), "HLEN", 0)
}

/// Measures the first of the ties of a user. In larger sets, a tie takes about as many bytes.
pub fn ties(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.ties(user, 0), "SCARD", 0)
}

/// Measures the list of users whom a user blocks.
pub fn blocking(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.blocking(user), "ZCARD", 0)
}

/// Measures the newest of the users who block a user. In larger sets, a member takes fewer bytes.
pub fn blockers(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.blockers(user), "ZCARD", 0)
}

/// Measures a home timeline.
pub fn timeline(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    const SEAL: u64 = 1;
    usage(&keys.timeline(user), "LLEN", SEAL)
}

/// Measures a user's record.
pub fn user(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.user(user), "EXISTS", 0)
}

/// Measures a shard of the username index.
pub fn names(keys: &Keys, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.names(shard), "HLEN", 0)
}

/// Measures a shard of the subject index.
pub fn subjects(keys: &Keys, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.subjects(shard), "HLEN", 0)
}

/// Measures the posts that a user has reposted.
pub fn reposted(keys: &Keys, user: UserId) -> Command<Option<KeyUsage>> {
    usage(&keys.reposted(user), "HLEN", 0)
}

/// Measures a list of a hot post: entries of its replies, of the posts that quote it, or of its reposts.
pub fn referrers(
    keys: &Keys,
    post: PostId,
    kind: ReferrerKind,
    entries: EntryKind,
) -> Command<Option<KeyUsage>> {
    usage(&keys.referrers(post, kind, entries), "LLEN", 0)
}

/// Measures a post's record.
pub fn post(keys: &Keys, post: PostId) -> Command<Option<KeyUsage>> {
    usage(&keys.post(post), "EXISTS", 0)
}

/// Measures the earlier versions of a post.
pub fn edits(keys: &Keys, post: PostId) -> Command<Option<KeyUsage>> {
    usage(&keys.edits(post), "LLEN", 0)
}

/// Measures a shard of a day's visits.
pub fn visits(keys: &Keys, layout: Layout, shard: u32) -> Command<Option<KeyUsage>> {
    usage(&keys.visits(layout, shard), "SCARD", 0)
}

/// Measures a region shard. The item count is the shard's length in bytes.
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
