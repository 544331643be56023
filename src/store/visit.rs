//! Who came on a day: sets of user ids, spread by crc32 over shards so small that Redis keeps each as an array of
//! integers.
//!
//! How many shards a day has is fixed when the first user comes and stays so. When a day is over its shards are
//! *closed*, each for itself: what is in it then is counted, and nothing is added any more. They expire after
//! their number has been archived.
//!
//! Not here: when that is done (`app::visit`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call, command, several, transaction};
use crate::store::key::Keys;
use crate::store::script;

/// How many users a shard has on a day on which as many come as are expected. Twice as many still are an array.
const USERS_PER_SHARD: u64 = 256;

/// For how long the shards of a day stay after it was archived, in seconds: so long that nobody who came on that
/// day can still be about to be noted.
const CLOSED_SECONDS: u64 = 2 * 86_400;

/// Fixes over how many shards a day is spread, for so many expected users, unless it is fixed. Answers how many
/// there are.
pub fn fix_shards(keys: &Keys, day: Day, expected: u64) -> Command<u32> {
    let days = keys.visit_days();
    let wanted = expected.div_ceil(USERS_PER_SHARD);
    let fix = command("HSETNX").key(&days).arg(day.number()).arg(wanted);
    let read = command("HGET").key(&days).arg(day.number());
    transaction(vec![fix, read]).map(|(_, shards): (bool, u32)| Ok(shards.max(1)))
}

/// The days that have begun and are not archived, each with its number of shards, in no order.
pub fn days(keys: &Keys) -> Command<Vec<(Day, u32)>> {
    let read = command("HGETALL").key(&keys.visit_days()).reply::<Vec<(i64, u32)>>();
    read.map(|days| {
        Ok(days.into_iter().map(|(day, shards)| (Day::from_number(day), shards.max(1))).collect())
    })
}

/// Notes that a user came on a day of so many shards. `false` if the day is closed and the user not counted.
pub fn record(keys: &Keys, day: Day, shards: u32, user: UserId) -> Command<bool> {
    let shard = crc32fast::hash(user.to_string().as_bytes()) % shards;
    call(&script::RECORD_VISIT).key(&keys.visits(day, shard)).arg(user.get()).reply()
}

/// How many have come in one shard of a day that is not over.
pub fn count(keys: &Keys, day: Day, shard: u32) -> Command<u64> {
    command("SCARD").key(&keys.visits(day, shard)).reply()
}

/// How many came in one shard of a day that may be closed.
pub fn count_past(keys: &Keys, day: Day, shard: u32) -> Command<u64> {
    let visits = keys.visits(day, shard);
    let (all, mark) = (command("SCARD").key(&visits), command("SISMEMBER").key(&visits).arg(0));
    several(vec![all, mark]).map(|(all, mark): (u64, u64)| Ok(all.saturating_sub(mark)))
}

/// Closes one shard of a day and tells how many came.
pub fn close(keys: &Keys, day: Day, shard: u32) -> Command<u64> {
    call(&script::CLOSE_VISITS).key(&keys.visits(day, shard)).arg(0).reply()
}

/// Lets a closed shard expire.
pub fn expire(keys: &Keys, day: Day, shard: u32) -> Command<bool> {
    command("EXPIRE").key(&keys.visits(day, shard)).arg(CLOSED_SECONDS).reply()
}

/// Forgets a day that is archived.
pub fn forget(keys: &Keys, day: Day) -> Command<i64> {
    command("HDEL").key(&keys.visit_days()).arg(day.number()).reply()
}
