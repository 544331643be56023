//! Storage of daily profile viewers: sets of user ids in as many shards as needed, each small enough for
//! Redis to store as an integer array.
//!
//! The shards of one profile and day form a tree with four children per node. A viewer is added to the root
//! or, if the root is full, to one of its children, selected by CRC32, and so on. A rarely viewed
//! profile needs one small set and a popular profile needs many; the number of viewers need not be known in
//! advance. Each viewer is on a single path from the root, and lookups follow this path.
//!
//! Not here: the selection of views to count (`app::audience`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;

/// Capacity of a shard: the largest set that Redis stores as an integer array by default.
pub const ROOM: usize = 512;
/// Number of tree levels: enough for about three million viewers. Shards of the last level have unlimited
/// capacity.
pub const GENERATIONS: u32 = 7;
/// Number of children of each shard. Part of the stored format.
const BRANCHES: u32 = 4;
/// Retention of profile views, in days.
pub const DAYS: i64 = 30;
/// Lifetime of a shard, in seconds. Covers the last request on the last day on which the shard can be
/// queried.
const SECONDS: i64 = (DAYS + 2) * 86_400;

/// A shard of one profile's viewers on one day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    generation: u32,
    number: u32,
}

impl Shard {
    /// The root shard, which fills first.
    pub const ROOT: Self = Self { generation: 0, number: 0 };

    /// Returns the shards that may contain a viewer, from the root down.
    pub fn all_of(visitor: UserId) -> impl Iterator<Item = Self> {
        let hash = hash(visitor);
        (0..GENERATIONS).map(move |generation| Self { generation, number: hash % BRANCHES.pow(generation) })
    }

    /// Returns true if this shard, or a shard below it, may contain sampled viewers: viewers whose hash ends
    /// in `digits` zero digits, in base 4.
    #[must_use]
    pub fn has_sampled(self, digits: u32) -> bool {
        self.number.is_multiple_of(BRANCHES.pow(digits.min(self.generation)))
    }

    /// Returns the children of this shard, which holds `visitors` viewers, if it is full and not on the last
    /// level; otherwise, an empty list.
    #[must_use]
    pub fn below(self, visitors: usize) -> Vec<Self> {
        let generation = self.generation + 1;
        if visitors < ROOM || generation == GENERATIONS {
            return Vec::new();
        }
        let width = BRANCHES.pow(self.generation);
        (0..BRANCHES).map(|branch| Self { generation, number: self.number + branch * width }).collect()
    }

    /// Returns the shard's index among the shards of all levels.
    fn index(self) -> u32 {
        (BRANCHES.pow(self.generation) - 1) / (BRANCHES - 1) + self.number
    }
}

fn hash(visitor: UserId) -> u32 {
    crc32fast::hash(visitor.to_string().as_bytes())
}

/// Returns true if a viewer is sampled: the hash that determines the viewer's shards ends in `digits` zero
/// digits, in base 4. On average, one viewer in [`weight`] is sampled.
#[must_use]
pub fn is_sampled(visitor: UserId, digits: u32) -> bool {
    hash(visitor).is_multiple_of(BRANCHES.pow(digits))
}

/// Returns the number of viewers that each sampled viewer represents, for a sample by `digits` zero digits.
#[must_use]
pub fn weight(digits: u32) -> u64 {
    u64::from(BRANCHES).pow(digits)
}

/// Records that `visitor` viewed a user's profile on a day. Returns true if they had not viewed it that day
/// before.
pub fn record(keys: &Keys, user: UserId, day: Day, visitor: UserId) -> Command<bool> {
    let shards = Shard::all_of(visitor).map(|shard| keys.audience(user, day, shard.index()));
    let record = shards.fold(call(&script::RECORD_VIEW), |record, shard| record.key(&shard));
    record.arg(visitor.get()).arg(ROOM).arg(SECONDS).reply()
}

/// Reads one shard of the viewers of a user's profile on a day.
pub fn read(keys: &Keys, user: UserId, day: Day, shard: Shard) -> Command<Vec<u64>> {
    // Redis reads integers in an array much faster than members of a sorted set.
    command("SMEMBERS").key(&keys.audience(user, day, shard.index())).reply().walking(ROOM / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visitor_has_a_path_down_the_tree() {
        for visitor in (1..5_000).filter_map(UserId::new) {
            let path: Vec<Shard> = Shard::all_of(visitor).collect();
            assert_eq!(path[0], Shard::ROOT);
            for pair in path.windows(2) {
                assert!(pair[0].below(ROOM).contains(&pair[1]), "{visitor}: {pair:?}");
                assert!(pair[0].below(ROOM - 1).is_empty());
            }
            assert!(path[path.len() - 1].below(ROOM).is_empty());
        }
    }

    #[test]
    fn no_two_shards_have_the_same_index() {
        let mut indices = Vec::new();
        let mut open = vec![Shard::ROOT];
        while let Some(shard) = open.pop() {
            indices.push(shard.index());
            open.extend(shard.below(ROOM));
        }
        indices.sort_unstable();
        assert_eq!(indices, (0..5_461).collect::<Vec<u32>>());
    }
}
