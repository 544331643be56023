//! Sets of ids in as many shards as needed, each small enough for Redis to store as an integer array.
//!
//! The shards of a set form a tree with four children per node. A member is added to the root or, if the root is full,
//! to one of its children, selected by CRC32, and so on. A small set needs one shard and a large set needs many; its
//! size need not be known in advance. Each member is on a single path from the root, and lookups follow this path.
//!
//! A shard that has been full is *closed*: members may be below it. If a member of a full shard is removed, the mark 0,
//! which is no id, takes its place and keeps the shard closed. See `store/lua/part/tree.lua`.
//!
//! Not here: what the sets are for (`store::audience`, `store::compact`, `store::ordered`, `store::tie`).

use std::fmt;

use crate::model::id::UserId;
use crate::model::like::reversed;
use crate::store::command::{Builder, Command, call, command};
use crate::store::key::{Key, Set};
use crate::store::script;

/// Capacity of a shard: the largest set that Redis stores as an integer array by default.
pub const ROOM: usize = 512;
/// Number of tree levels: enough for about three million members. Shards of the last level have unlimited
/// capacity.
pub const GENERATIONS: u32 = 7;
/// The element that keeps a shard closed after a member was removed.
const MARK: u64 = 0;
/// Number of children of each shard. Part of the stored format.
pub(super) const BRANCHES: u32 = 4;

/// A shard of a set.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    generation: u32,
    number: u32,
}

impl Shard {
    /// The root shard, which fills first.
    pub const ROOT: Self = Self { generation: 0, number: 0 };

    /// Returns the shards that may contain a member, from the root down.
    pub fn all_of(member: impl fmt::Display) -> impl Iterator<Item = Self> {
        Self::all_of_hash(hash(member))
    }

    /// Returns the shards that may contain members at this place, from the root down: see
    /// [`Like`](crate::model::like::Like).
    pub(super) fn at_place(place: u32) -> impl Iterator<Item = Self> {
        Self::all_of_hash(reversed(place))
    }

    fn all_of_hash(hash: u32) -> impl Iterator<Item = Self> {
        (0..GENERATIONS).map(move |generation| Self { generation, number: hash % BRANCHES.pow(generation) })
    }

    /// Returns true if this shard, or a shard below it, may contain members whose hash ends in `digits` zero digits, in
    /// base 4.
    #[must_use]
    pub fn has_hashes_with(self, digits: u32) -> bool {
        self.number.is_multiple_of(BRANCHES.pow(digits.min(self.generation)))
    }

    /// Returns the children of this shard, which has these elements, if it is closed and not on the last level;
    /// otherwise, an empty list.
    #[must_use]
    pub fn below(self, elements: &[u64]) -> Vec<Self> {
        let generation = self.generation + 1;
        if !is_closed(elements) || generation == GENERATIONS {
            return Vec::new();
        }
        let width = BRANCHES.pow(self.generation);
        (0..BRANCHES).map(|branch| Self { generation, number: self.number + branch * width }).collect()
    }

    /// Returns the shard that follows this one, which has these elements, in a walk of the tree: the first one below
    /// it, or else the next one beside it or beside a shard above it; `None` for the last one.
    #[must_use]
    pub fn next(self, elements: &[u64]) -> Option<Self> {
        if let Some(below) = self.below(elements).into_iter().next() {
            return Some(below);
        }
        let mut shard = self;
        while shard.generation > 0 {
            let width = BRANCHES.pow(shard.generation - 1);
            if shard.number / width < BRANCHES - 1 {
                return Some(Self { number: shard.number + width, ..shard });
            }
            shard = Self { generation: shard.generation - 1, number: shard.number % width };
        }
        None
    }

    /// Returns the shard's index among the shards of all levels. Part of the format of cursors.
    #[must_use]
    pub fn index(self) -> u32 {
        first_index(self.generation) + self.number
    }

    /// Returns the shard with this index; `None` if there is none.
    #[must_use]
    pub fn with_index(index: u32) -> Option<Self> {
        let is_in = |generation: &u32| index < first_index(generation + 1);
        let generation = (0..GENERATIONS).find(is_in)?;
        Some(Self { generation, number: index - first_index(generation) })
    }
}

/// Returns the index of the first shard on a level.
fn first_index(generation: u32) -> u32 {
    (BRANCHES.pow(generation) - 1) / (BRANCHES - 1)
}

/// Adds a member to the tree with these shards, by index. Returns true if the tree did not contain it.
pub(super) fn add(shards: impl Fn(u32) -> Key<Set>, member: impl fmt::Display + Copy) -> Command<bool> {
    path(call(&script::ADD_TO_TREE), shards, member).reply()
}

/// Removes a member. Returns true if the tree contained it.
pub(super) fn remove(shards: impl Fn(u32) -> Key<Set>, member: UserId) -> Command<bool> {
    path(call(&script::REMOVE_FROM_TREE), shards, member).reply()
}

/// Returns true if the tree contains a member.
pub(super) fn contains(shards: impl Fn(u32) -> Key<Set>, member: UserId) -> Command<bool> {
    path(call(&script::IS_IN_TREE), shards, member).reply()
}

/// Adds the shards that may contain a member to a script's keys, then the member and the capacity of a shard to its
/// arguments.
pub(super) fn path(
    call: Builder,
    shards: impl Fn(u32) -> Key<Set>,
    member: impl fmt::Display + Copy,
) -> Builder {
    let path = Shard::all_of(member).map(|shard| shards(shard.index()));
    path.fold(call, |call, shard| call.key(&shard)).arg(member.to_string()).arg(ROOM)
}

/// Reads the elements of a shard: members, and the mark of a shard that is closed. Leaves out what is neither.
pub(super) fn elements(shard: &Key<Set>) -> Command<Vec<u64>> {
    command("SMEMBERS").key(shard).reply::<Vec<String>>().map(|elements| Ok(readable(&elements)))
}

/// Returns the elements of a shard that are members or the mark; and the mark, if the shard is only full with elements
/// that are neither.
pub(super) fn readable(elements: &[String]) -> Vec<u64> {
    let mut readable: Vec<u64> = elements.iter().filter_map(|element| element.parse().ok()).collect();
    if elements.len() >= ROOM && !is_closed(&readable) {
        readable.push(MARK);
    }
    readable
}

/// Returns true if members may be below the shard that has these elements.
pub(super) fn is_closed(elements: &[u64]) -> bool {
    elements.len() >= ROOM || elements.contains(&MARK)
}

/// Returns the hash that determines a member's path. Part of the stored format.
pub(super) fn hash(member: impl fmt::Display) -> u32 {
    crc32fast::hash(member.to_string().as_bytes())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_member_has_a_path_down_the_tree() {
        for member in (1..5_000).filter_map(UserId::new) {
            let path: Vec<Shard> = Shard::all_of(member).collect();
            assert_eq!(path[0], Shard::ROOT);
            for pair in path.windows(2) {
                assert!(pair[0].below(&[1; ROOM]).contains(&pair[1]), "{member}: {pair:?}");
                assert!(pair[0].below(&[1, MARK]).contains(&pair[1]), "{member}: {pair:?}");
                assert!(pair[0].below(&[1; ROOM - 1]).is_empty());
            }
            assert!(path[path.len() - 1].below(&[1; ROOM]).is_empty());
        }
    }

    #[test]
    fn a_walk_visits_each_shard_once() {
        let (mut seen, mut next) = (std::collections::HashSet::new(), Some(Shard::ROOT));
        while let Some(shard) = next {
            assert!(seen.insert(shard.index()));
            assert_eq!(Shard::with_index(shard.index()), Some(shard));
            let elements: &[u64] = if shard.generation < 3 { &[MARK] } else { &[] };
            next = shard.next(elements);
        }
        assert_eq!(seen, (0..1 + 4 + 16 + 64).collect());
        assert_eq!(Shard::with_index(first_index(GENERATIONS)), None);
    }

    #[test]
    fn no_two_shards_have_the_same_index() {
        let mut indices = Vec::new();
        let mut open = vec![Shard::ROOT];
        while let Some(shard) = open.pop() {
            indices.push(shard.index());
            open.extend(shard.below(&[1; ROOM]));
        }
        indices.sort_unstable();
        assert_eq!(indices, (0..5_461).collect::<Vec<u32>>());
    }
}
