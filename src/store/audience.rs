//! Storage of daily profile viewers: a tree of shards per profile and day; see [`crate::store::tree`].
//!
//! A view is also noted in the slot of the viewer, before it is recorded, so that an erasure finds it: one tree of the
//! profiles viewed per period of eight days. A note outlives the views of its period. It costs a viewer four to eight
//! bytes for each profile viewed in the period, and a hundred and some for the period; six periods are stored at most.
//!
//! Not here: the selection of views to count (`app::audience`).

use crate::model::clock::Day;
use crate::model::id::UserId;
use crate::store::command::{Command, call};
use crate::store::key::Keys;
use crate::store::script;
use crate::store::tree::{self, BRANCHES, ROOM, Shard, hash};

/// Retention of profile views, in days.
pub const DAYS: i64 = 30;
/// Lifetime of a shard, in seconds. Covers the last request on the last day on which the shard can be
/// queried.
const SECONDS: i64 = STORED_DAYS * DAY_SECONDS;
/// Maximum number of days whose viewers are stored.
const STORED_DAYS: i64 = DAYS + 2;
/// Number of days in which a profile that a user views repeatedly is noted once. Part of the stored format.
const PERIOD: i64 = 8;
/// Lifetime of a shard of noted profiles, in seconds: that of the shards of viewers which are created on the last day
/// of its period.
const NOTED_SECONDS: i64 = SECONDS + PERIOD * DAY_SECONDS;
const DAY_SECONDS: i64 = 86_400;

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
    let shards = |shard| keys.audience(user, day, shard);
    tree::path(call(&script::RECORD_VIEW), shards, visitor).arg(SECONDS).reply()
}

/// Notes that `visitor` views a user's profile on a day, which must be sent before the view is recorded. Returns true
/// if this had not been noted in the day's period before.
pub fn note(keys: &Keys, visitor: UserId, day: Day, user: UserId) -> Command<bool> {
    let shards = |shard| keys.viewed(visitor, period_of(day), shard);
    tree::path(call(&script::RECORD_VIEW), shards, user).arg(NOTED_SECONDS).reply()
}

/// Returns the number of the period that contains a day.
fn period_of(day: Day) -> i64 {
    day.number().div_euclid(PERIOD)
}

/// Returns the days whose viewers may be stored.
pub(super) fn stored_days(today: Day) -> impl Iterator<Item = Day> {
    (0..=STORED_DAYS).map(move |ago| today.plus(-ago))
}

/// Returns the periods of which viewed profiles may be stored.
pub(super) fn stored_periods(today: Day) -> impl Iterator<Item = i64> {
    period_of(today.plus(-STORED_DAYS - PERIOD))..=period_of(today)
}

/// Removes a viewer of a user's profile in a period: a command for each day.
pub(super) fn forget(
    keys: &Keys,
    user: UserId,
    period: i64,
    visitor: UserId,
) -> impl Iterator<Item = Command<bool>> {
    let days = (0..PERIOD).map(move |day| Day::from_number(period * PERIOD + day));
    days.map(move |day| tree::remove(|shard| keys.audience(user, day, shard), visitor))
}

/// Removes the note that `visitor` has viewed a user's profile in the period of a day.
pub(super) fn forget_note(keys: &Keys, visitor: UserId, day: Day, user: UserId) -> Command<bool> {
    tree::remove(|shard| keys.viewed(visitor, period_of(day), shard), user)
}

/// Reads one shard of the viewers of a user's profile on a day.
pub fn read(keys: &Keys, user: UserId, day: Day, shard: Shard) -> Command<Vec<u64>> {
    // Redis reads integers in an array much faster than members of a sorted set.
    tree::elements(&keys.audience(user, day, shard.index())).walking(ROOM / 4)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_days_and_periods_stored_cover_each_other() {
        let today = Day::from_number(20_783);
        assert_eq!(period_of(today), 2_597);
        let periods: Vec<i64> = stored_periods(today).collect();
        assert!(stored_days(today).all(|day| periods.contains(&period_of(day))));
        assert_eq!(periods.len(), 6);
        // A view on the last day of a period is forgotten before the note from its first day.
        const { assert!(NOTED_SECONDS >= SECONDS + (PERIOD - 1) * DAY_SECONDS) };
    }
}
