//! Storage of daily profile viewers: a tree of shards per profile and day; see [`crate::store::tree`].
//!
//! Not here: the selection of views to count (`app::audience`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command};
use crate::store::key::Keys;
use crate::store::script;
use crate::store::tree::{BRANCHES, ROOM, Shard, hash};

/// Retention of profile views, in days.
pub const DAYS: i64 = 30;
/// Lifetime of a shard, in seconds. Covers the last request on the last day on which the shard can be
/// queried.
const SECONDS: i64 = (DAYS + 2) * 86_400;

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
