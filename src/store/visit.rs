//! Storage of daily visitors: sets of user ids, spread by CRC32 over shards small enough for Redis to store
//! each as an integer array.
//!
//! The first visit on a day fixes the day's number of shards. When the day is over, the server *closes* the shards one
//! by one: a closed shard accepts no more visitors, and the server counts those that it contains. The shards expire
//! after the server has archived the count. Until then, an erasure finds them by the list of closed days.
//!
//! Not here: the schedule (`app::visit`).

use std::collections::HashMap;
use std::time::Duration;

use crate::model::clock::{Day, Timestamp};
use crate::model::id::UserId;
use crate::store::command::{Command, call, command, several};
use crate::store::key::{Keys, Layout};
use crate::store::script;

/// Average number of users per shard on a day with the expected number of visitors. By default, Redis stores
/// up to twice that number in an integer array.
const USERS_PER_SHARD: u64 = 256;

/// Maximum number of shards per day: far more than the greatest expected number of visitors requires.
const MOST_SHARDS: u32 = 1 << 16;

/// Time after which an archived day's shards expire, in seconds: long enough that no late write can still
/// record a visit on that day.
const CLOSED_SECONDS: u64 = 2 * 86_400;

/// Member that marks a closed shard; all other members are user ids.
const CLOSED: u64 = 0;

const SINCE: &str = "since";

/// Sets a day's layout for `expected` users, and the first day recorded, unless already set. Returns the
/// layout in force.
pub fn fix_layout(keys: &Keys, day: Day, expected: u64) -> Command<Layout> {
    let days = keys.visit_days();
    let wanted = expected.div_ceil(USERS_PER_SHARD).min(MOST_SHARDS.into());
    let fix = command("HSETNX").key(&days).arg(day.number()).arg(wanted);
    let since = command("HSETNX").key(&days).arg(SINCE).arg(day.number());
    let read = command("HGET").key(&days).arg(day.number());
    let fixed = several::<(bool, bool, u32)>(&[fix, since, read]);
    fixed.map(move |(_, _, shards)| Ok(Layout { day, shards: shards.clamp(1, MOST_SHARDS) }))
}

/// The days of visits recorded in Redis.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Days {
    /// Unarchived days that have begun, in ascending order.
    pub open: Vec<Layout>,
    /// The first day ever recorded; `None` if no day was recorded.
    pub since: Option<Day>,
    /// Entries whose day or number of shards is invalid.
    pub unknown: Vec<String>,
}

/// Reads the days of visits recorded in Redis.
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

/// Records a user's visit on a day. Returns false if the day is closed and does not count the user.
pub fn record(keys: &Keys, layout: Layout, user: UserId) -> Command<bool> {
    let shard = keys.visits(layout, shard_of(layout, user));
    call(&script::RECORD_VISIT).key(&shard).arg(user.get()).arg(CLOSED).reply()
}

/// Returns the shard of a user.
fn shard_of(layout: Layout, user: UserId) -> u32 {
    crc32fast::hash(user.to_string().as_bytes()) % layout.shards.max(1)
}

/// Counts the visitors in one of a day's shards.
pub fn count(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    let visits = keys.visits(layout, shard);
    let (all, mark) = (command("SCARD").key(&visits), command("SISMEMBER").key(&visits).arg(CLOSED));
    several(&[all, mark]).map(|(all, mark): (u64, u64)| Ok(all.saturating_sub(mark)))
}

/// Closes one of a day's shards and returns its number of visitors.
pub fn close(keys: &Keys, layout: Layout, shard: u32) -> Command<u64> {
    call(&script::CLOSE_VISITS).key(&keys.visits(layout, shard)).arg(CLOSED).reply()
}

/// Sets a shard that is no longer needed to expire.
pub fn expire(keys: &Keys, layout: Layout, shard: u32) -> Command<bool> {
    command("EXPIRE").key(&keys.visits(layout, shard)).arg(CLOSED_SECONDS).reply()
}

/// Records that the shards of a layout expire soon, before it is removed from the recorded days. Forgets those whose
/// shards have expired.
pub fn note_closed(keys: &Keys, layout: Layout, now: Timestamp) -> Command<(i64, i64, i64)> {
    let closed = keys.closed_visits();
    let name = format!("{}.{}", layout.day.number(), layout.shards);
    let expired = now.minus(Duration::from_secs(2 * CLOSED_SECONDS)).as_millis();
    let note = command("ZADD").key(&closed).arg(now.as_millis()).arg(name);
    let forget = command("ZREMRANGEBYSCORE").key(&closed).arg("-inf").arg(expired);
    several(&[note, forget, command("EXPIRE").key(&closed).arg(2 * CLOSED_SECONDS)])
}

/// Reads the layouts whose shards expire soon.
pub fn closed(keys: &Keys) -> Command<Vec<Layout>> {
    let layout = |name: &String| {
        let (day, shards) = name.split_once('.')?;
        Some(Layout { day: Day::from_number(day.parse().ok()?), shards: shards.parse().ok()? })
    };
    let read = command("ZRANGE").key(&keys.closed_visits()).arg(0).arg(-1).reply::<Vec<String>>();
    read.map(move |names| Ok(names.iter().filter_map(layout).collect()))
}

/// Removes a user from the visitors of a day.
pub fn remove(keys: &Keys, layout: Layout, user: UserId) -> Command<bool> {
    command("SREM").key(&keys.visits(layout, shard_of(layout, user))).arg(user.get()).reply()
}

/// Removes an archived day from the recorded days.
pub fn forget(keys: &Keys, day: Day) -> Command<i64> {
    command("HDEL").key(&keys.visit_days()).arg(day.number()).reply()
}
