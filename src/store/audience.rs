//! Viewers of a user's profile on a day: sets of user ids, each small enough for Redis to store it as an
//! array of integers, in as many shards as needed.
//!
//! The shards of a profile and day form a tree with four children per node. A viewer is added to the root; if
//! that is full, to one of its children, selected by CRC32, and so on. A little-known profile costs one small
//! set, a famous one many, and the size need not be known in advance. A viewer can only be on one path from
//! the root, so lookups follow that path.
//!
//! Not here: which views are counted (`app::audience`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;

/// Capacity of a shard: the largest set that Redis stores as an array by default.
pub const ROOM: usize = 512;
/// Number of levels of the tree: enough for some three million viewers. The last level has unlimited
/// capacity.
pub const GENERATIONS: u32 = 7;
/// Number of children of each shard. Part of the stored format.
const BRANCHES: u32 = 4;
/// Retention of an audience, in days.
pub const DAYS: i64 = 30;
/// Lifetime of a shard, in seconds. Long enough for the last request of the last day on which it can be
/// queried.
const SECONDS: i64 = (DAYS + 2) * 86_400;

/// A shard of a profile and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    generation: u32,
    number: u32,
}

impl Shard {
    /// The root, which fills first.
    pub const ROOT: Self = Self { generation: 0, number: 0 };

    /// Returns the shards that may contain a viewer, from the root down.
    pub fn all_of(visitor: UserId) -> impl Iterator<Item = Self> {
        let hash = hash(visitor);
        (0..GENERATIONS).map(move |generation| Self { generation, number: hash % BRANCHES.pow(generation) })
    }

    /// Returns whether this shard, or one below it, may contain sampled viewers: those whose hash has zeros
    /// in its last `digits` digits.
    #[must_use]
    pub fn has_sampled(self, digits: u32) -> bool {
        self.number.is_multiple_of(BRANCHES.pow(digits.min(self.generation)))
    }

    /// Returns the child shards used once this one, with its number of `visitors`, is full; empty if it is
    /// not.
    #[must_use]
    pub fn below(self, visitors: usize) -> Vec<Self> {
        let generation = self.generation + 1;
        if visitors < ROOM || generation == GENERATIONS {
            return Vec::new();
        }
        let width = BRANCHES.pow(self.generation);
        (0..BRANCHES).map(|branch| Self { generation, number: self.number + branch * width }).collect()
    }

    /// Returns the index among the shards of all levels.
    fn index(self) -> u32 {
        (BRANCHES.pow(self.generation) - 1) / (BRANCHES - 1) + self.number
    }
}

fn hash(visitor: UserId) -> u32 {
    crc32fast::hash(visitor.to_string().as_bytes())
}

/// Returns whether a viewer is sampled: whether the last `digits` digits of the hash that determines its
/// shards are zero. One viewer in [`weight`] is sampled.
#[must_use]
pub fn is_sampled(visitor: UserId, digits: u32) -> bool {
    hash(visitor).is_multiple_of(BRANCHES.pow(digits))
}

/// Returns the number of viewers represented by each that is sampled with this many digits.
#[must_use]
pub fn weight(digits: u32) -> u64 {
    u64::from(BRANCHES).pow(digits)
}

/// Records that a user viewed a profile on a day. Returns whether it is their first view.
pub fn record(keys: &Keys, user: UserId, day: Day, visitor: UserId) -> Command<bool> {
    let shards = Shard::all_of(visitor).map(|shard| keys.audience(user, day, shard.index()));
    let record = shards.fold(call(&script::RECORD_VIEW), |record, shard| record.key(&shard));
    record.arg(visitor.get()).arg(ROOM).arg(SECONDS).reply()
}

/// Reads the viewers in a shard of a user's profile and a day.
pub fn read(keys: &Keys, user: UserId, day: Day, shard: Shard) -> Command<Vec<u64>> {
    // Reading integers in an array is much faster than reading members of a sorted set.
    command("SMEMBERS").key(&keys.audience(user, day, shard.index())).reply().walking(ROOM / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_visitor_has_its_way_down_the_tree() {
        for visitor in (1..5_000).filter_map(UserId::new) {
            let way: Vec<Shard> = Shard::all_of(visitor).collect();
            assert_eq!(way[0], Shard::ROOT);
            for pair in way.windows(2) {
                assert!(pair[0].below(ROOM).contains(&pair[1]), "{visitor}: {pair:?}");
                assert!(pair[0].below(ROOM - 1).is_empty());
            }
            assert!(way[way.len() - 1].below(ROOM).is_empty());
        }
    }

    #[test]
    fn no_two_shards_are_one() {
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
