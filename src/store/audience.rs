//! Who looked at a user's profile on a day: sets of user ids, so small that Redis keeps each as an array of
//! integers, and as many of them as it takes.
//!
//! The shards of a profile and day are a tree, four below each. A visitor goes to the root; where that is full, to
//! one of those below it, by crc32, and so on. So somebody unknown costs one small set, somebody famous many of
//! them, and nothing has to be known beforehand. A visitor can only be on one way from the root, which is where it
//! is looked for.
//!
//! Not here: what counts as a look (`app::audience`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;

/// How many visitors a shard has room for: as many as Redis keeps in an array by default.
pub const ROOM: usize = 512;
/// How many generations of shards there are: enough for some three million visitors. The last has room for any
/// number.
pub const GENERATIONS: u32 = 7;
/// How many shards lie below each. Part of the stored format.
const BRANCHES: u32 = 4;
/// For how many days an audience is kept.
pub const DAYS: i64 = 30;
/// For how long a shard stays, in seconds: also the last request of the day on which it is asked for has it.
const SECONDS: i64 = (DAYS + 2) * 86_400;

/// One of the shards of a profile and day.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shard {
    generation: u32,
    number: u32,
}

impl Shard {
    /// The one that fills first.
    pub const ROOT: Self = Self { generation: 0, number: 0 };

    /// The shards that a visitor may be in, the first of them first.
    pub fn all_of(visitor: UserId) -> impl Iterator<Item = Self> {
        let hash = hash(visitor);
        (0..GENERATIONS).map(move |generation| Self { generation, number: hash % BRANCHES.pow(generation) })
    }

    /// Whether there may be visitors in it, or below it, whose hash has none in so many of its digits.
    #[must_use]
    pub fn has_sampled(self, digits: u32) -> bool {
        self.number.is_multiple_of(BRANCHES.pow(digits.min(self.generation)))
    }

    /// Where those go who find no room in this one that has so many; nowhere if there is room.
    #[must_use]
    pub fn below(self, visitors: usize) -> Vec<Self> {
        let generation = self.generation + 1;
        if visitors < ROOM || generation == GENERATIONS {
            return Vec::new();
        }
        let width = BRANCHES.pow(self.generation);
        (0..BRANCHES).map(|branch| Self { generation, number: self.number + branch * width }).collect()
    }

    /// Its number among the shards of all generations.
    fn index(self) -> u32 {
        (BRANCHES.pow(self.generation) - 1) / (BRANCHES - 1) + self.number
    }
}

fn hash(visitor: UserId) -> u32 {
    crc32fast::hash(visitor.to_string().as_bytes())
}

/// Whether a visitor's hash, which tells its shards, has none in so many of its digits. One of [`weight`] has.
#[must_use]
pub fn is_sampled(visitor: UserId, digits: u32) -> bool {
    hash(visitor).is_multiple_of(BRANCHES.pow(digits))
}

/// How many visitors there are for each that is sampled by so many digits.
#[must_use]
pub fn weight(digits: u32) -> u64 {
    u64::from(BRANCHES).pow(digits)
}

/// Notes that somebody looked at a user's profile on a day. Answers whether it is the first time.
pub fn record(keys: &Keys, user: UserId, day: Day, visitor: UserId) -> Command<bool> {
    let shards = Shard::all_of(visitor).map(|shard| keys.audience(user, day, shard.index()));
    let record = shards.fold(call(&script::RECORD_VIEW), |record, shard| record.key(&shard));
    record.arg(visitor.get()).arg(ROOM).arg(SECONDS).reply()
}

/// Who is in one of the shards of a user's profile and a day.
pub fn read(keys: &Keys, user: UserId, day: Day, shard: Shard) -> Command<Vec<u64>> {
    // Integers in an array are read much faster than the members of a sorted set.
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
