//! Who came on a day: sets of user ids, spread by crc32 over shards so small that Redis keeps each as an array of
//! integers.
//!
//! How many shards a day has is fixed when the first user comes and stays so. When a day is over its shards are
//! *closed*, each for itself: what is in it then is counted, and nothing is added any more. They expire after
//! their number has been archived.
//!
//! Not here: when that is done (`app::visit`).

use std::collections::HashMap;

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command, several};
use crate::store::key::{Keys, Layout};
use crate::store::script;

/// How many users a shard has on a day on which as many come as are expected. Redis keeps up to twice as many in an
/// array, by default.
const USERS_PER_SHARD: u64 = 256;

/// Most shards of a day: far more than the greatest expectation asks for.
const MOST_SHARDS: u32 = 1 << 16;

/// For how long the shards of a day stay after it was archived, in seconds: so long that nobody who came on that
/// day can still be about to be noted.
const CLOSED_SECONDS: u64 = 2 * 86_400;

/// What is in a closed shard beside users.
const CLOSED: u64 = 0;

const SINCE: &str = "since";

/// Fixes how a day is laid out for so many expected users, unless it is fixed; and that there have been days since
/// then. Answers how it is laid out.
pub fn fix_layout(keys: &Keys, day: Day, expected: u64) -> Command<Layout> {
    let days = keys.visit_days();
    let wanted = expected.div_ceil(USERS_PER_SHARD).min(MOST_SHARDS.into());
    let fix = command("HSETNX").key(&days).arg(day.number()).arg(wanted);
    let since = command("HSETNX").key(&days).arg(SINCE).arg(day.number());
    let read = command("HGET").key(&days).arg(day.number());
    let fixed = several::<(bool, bool, u32)>(vec![fix, since, read]);
    fixed.map(move |(_, _, shards)| Ok(Layout { day, shards: shards.clamp(1, MOST_SHARDS) }))
}

/// The days of which Redis knows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days {
    /// Those that have begun and are not archived, in order.
    pub open: Vec<Layout>,
    /// The first there ever was.
    pub since: Option<Day>,
    /// What stands there that is none, or has more shards than there can be.
    pub unknown: Vec<String>,
}

/// The days of which Redis knows.
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

/// Notes that a user came on a day. `false` if the day is closed and the user not counted.
pub fn record(keys: &Keys, layout: Layout, user: UserId) -> Command<bool> {
    let shard = crc32fast::hash(user.to_string().as_bytes()) % layout.shards;
    call(&script::RECORD_VISIT).key(&keys.visits(layout, shard)).arg(user.get()).arg(CLOSED).reply()
}

/// How many have come in one shard of a day.
pub fn count(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    let visits = keys.visits(layout, shard);
    let (all, mark) = (command("SCARD").key(&visits), command("SISMEMBER").key(&visits).arg(CLOSED));
    several(vec![all, mark]).map(|(all, mark): (u64, u64)| Ok(all.saturating_sub(mark)))
}

/// Closes one shard of a day and tells how many came.
pub fn close(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    call(&script::CLOSE_VISITS).key(&keys.visits(layout, shard)).arg(CLOSED).reply()
}

/// Lets a shard expire that is not needed any more.
pub fn expire(keys: &Keys, layout: Layout, shard: u32) -> Command<bool> {
    command("EXPIRE").key(&keys.visits(layout, shard)).arg(CLOSED_SECONDS).reply()
}

/// Forgets a day that is archived.
pub fn forget(keys: &Keys, day: Day) -> Command<i64> {
    command("HDEL").key(&keys.visit_days()).arg(day.number()).reply()
}
