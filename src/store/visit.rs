//! Visitors of a day: sets of user ids, spread by CRC32 over shards small enough for Redis to store each as
//! an array of integers.
//!
//! The number of shards of a day is fixed when its first visitor is recorded. When the day is over, its
//! shards are *closed* one by one: their visitors are counted, and no more are added. The shards expire after
//! the count has been archived.
//!
//! Not here: the schedule (`app::visit`).

use std::collections::HashMap;

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command, several};
use crate::store::key::{Keys, Layout};
use crate::store::script;

/// Users per shard on a day with the expected number of visitors. By default, Redis stores up to twice as
/// many in an array.
const USERS_PER_SHARD: u64 = 256;

/// Maximum number of shards of a day: far more than the greatest expectation requires.
const MOST_SHARDS: u32 = 1 << 16;

/// Lifetime of the shards of an archived day, in seconds: so long that no visit of that day can still be
/// about to be recorded.
const CLOSED_SECONDS: u64 = 2 * 86_400;

/// The member that marks a closed shard; all others are users.
const CLOSED: u64 = 0;

const SINCE: &str = "since";

/// Sets the layout of a day for `expected` users, and the first day recorded, unless they are already set.
/// Returns the layout in force.
pub fn fix_layout(keys: &Keys, day: Day, expected: u64) -> Command<Layout> {
    let days = keys.visit_days();
    let wanted = expected.div_ceil(USERS_PER_SHARD).min(MOST_SHARDS.into());
    let fix = command("HSETNX").key(&days).arg(day.number()).arg(wanted);
    let since = command("HSETNX").key(&days).arg(SINCE).arg(day.number());
    let read = command("HGET").key(&days).arg(day.number());
    let fixed = several::<(bool, bool, u32)>(vec![fix, since, read]);
    fixed.map(move |(_, _, shards)| Ok(Layout { day, shards: shards.clamp(1, MOST_SHARDS) }))
}

/// The days recorded in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days {
    /// Days that have begun and are not archived, in order.
    pub open: Vec<Layout>,
    /// The first day ever recorded.
    pub since: Option<Day>,
    /// Entries that are not days or have more shards than allowed.
    pub unknown: Vec<String>,
}

/// Reads the days recorded in Redis.
pub fn days(keys: &Keys) -> Command<Days> {
    let read = command("HGETALL").key(&keys.visit_days()).reply::<HashMap<String, String>>();
    read.map(|fields| {
        let mut days = Days::default();
        for (field, value) in fields {
            let day = field.parse().ok().map(Day::from_number);
            let shards = value.parse().ok().filter(|shards| (1..=MOST_SHARDS).contains(shards));
            match (field.as_str(), day.zip(shards)) {
                (SINCE, _) => days.since = value.parse().ok().map(Day::from_number),
                (_, Some((day, shards))) => days.open.push(Layout { day, shards }),
                (_, None) => days.unknown.push(format!("{field}: {value}")),
            }
        }
        days.open.sort_unstable();
        Ok(days)
    })
}

/// Records a visit of a user on a day. `false` if the day is closed and the user is not counted.
pub fn record(keys: &Keys, layout: Layout, user: UserId) -> Command<bool> {
    let shard = crc32fast::hash(user.to_string().as_bytes()) % layout.shards;
    call(&script::RECORD_VISIT).key(&keys.visits(layout, shard)).arg(user.get()).arg(CLOSED).reply()
}

/// Counts the visitors in one shard of a day.
pub fn count(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    let visits = keys.visits(layout, shard);
    let (all, mark) = (command("SCARD").key(&visits), command("SISMEMBER").key(&visits).arg(CLOSED));
    several(vec![all, mark]).map(|(all, mark): (u64, u64)| Ok(all.saturating_sub(mark)))
}

/// Closes one shard of a day and returns the number of its visitors.
pub fn close(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    call(&script::CLOSE_VISITS).key(&keys.visits(layout, shard)).arg(CLOSED).reply()
}

/// Lets a shard expire that is no longer needed.
pub fn expire(keys: &Keys, layout: Layout, shard: u32) -> Command<bool> {
    command("EXPIRE").key(&keys.visits(layout, shard)).arg(CLOSED_SECONDS).reply()
}

/// Removes the record of a day that has been archived.
pub fn forget(keys: &Keys, day: Day) -> Command<i64> {
    command("HDEL").key(&keys.visit_days()).arg(day.number()).reply()
}
