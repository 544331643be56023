//! Storage of token buckets, each as one timestamp.
//!
//! `store/lua/part/bucket.lua` describes the timestamp. The caller supplies the current time, so servers
//! whose clocks differ by a second grant one second's worth of tokens more or less. Not here: the operations
//! that take tokens (`app::throttle`, `app::rate_limit`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::store::command::{Builder, Command, call, command};
use crate::store::key::{Bucket, Key, SortedSet};
use crate::store::script;

/// A bucket's capacity and refill rate.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// Maximum number of tokens in the bucket, and therefore the most that can be taken at once.
    pub capacity: u32,
    /// Time in which an empty bucket refills completely.
    pub period: Duration,
}

impl Limit {
    /// Returns the time in which one token is refilled, in microseconds.
    fn interval(self) -> u64 {
        let period = u64::try_from(self.period.as_micros()).unwrap_or(u64::MAX);
        (period / u64::from(self.capacity.max(1))).max(1)
    }
}

/// The outcome of taking tokens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Taken {
    /// Time until the bucket has enough tokens; `None` if the tokens were taken.
    pub wait: Option<Duration>,
    /// Number of tokens left in the bucket.
    pub remaining: u32,
    /// Time until the bucket is full.
    pub full_in: Duration,
}

impl Taken {
    /// Creates the outcome from the two times that a script returns, in microseconds.
    pub(super) fn read(limit: Limit, wait: u64, full: u64) -> Self {
        let missing = u32::try_from(full.div_ceil(limit.interval())).unwrap_or(u32::MAX);
        Self {
            wait: (wait > 0).then(|| Duration::from_micros(wait)),
            remaining: limit.capacity.saturating_sub(missing),
            full_in: Duration::from_micros(full),
        }
    }
}

/// The outcome of a change for which the bucket has no token: the time until there is one.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Throttled(pub Duration);

impl Throttled {
    /// Creates the outcome from the time that a script returns, in microseconds: 0 if the change was made.
    pub(super) fn check(wait: u64) -> Result<(), Self> {
        if wait == 0 { Ok(()) } else { Err(Self(Duration::from_micros(wait))) }
    }
}

/// Takes `amount` tokens if the bucket has enough; otherwise, takes none. If sent twice, may take the tokens
/// twice, to the client's disadvantage.
///
/// An amount above the capacity never succeeds.
pub fn take(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<Taken> {
    let take = taking(call(&script::TAKE_TOKENS).key(bucket).arg(now.as_millis()), limit, amount);
    take.reply::<(u64, u64)>().map(move |(wait, full)| Ok(Taken::read(limit, wait, full)))
}

/// Takes a token from a bucket as [`take`] does, and notes the bucket among the user's keys that expire.
pub fn take_noted(
    bucket: &Key<Bucket>,
    names: &Key<SortedSet>,
    limit: Limit,
    now: Timestamp,
) -> Command<Taken> {
    let take = call(&script::TAKE_GUESS).key(bucket).key(names).arg(now.as_millis());
    taking(take, limit, 1).reply::<(u64, u64)>().map(move |(wait, full)| Ok(Taken::read(limit, wait, full)))
}

/// Takes `used` tokens for work already done, or all remaining tokens if there are fewer. If sent twice, may
/// take the tokens twice, to the client's disadvantage.
pub fn drain(bucket: &Key<Bucket>, limit: Limit, used: u32, now: Timestamp) -> Command<u64> {
    taking(call(&script::DRAIN).key(bucket).arg(now.as_millis()), limit, used).reply()
}

/// Returns the outcome that taking `amount` tokens would have, without taking them.
pub fn peek(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<Taken> {
    let now = u64::try_from(now.as_millis()).unwrap_or(0).saturating_mul(1_000);
    let full = command("GET").key(bucket).reply::<Option<u64>>();
    full.map(move |full| {
        let full = full.unwrap_or(0).saturating_sub(now);
        let after = full.saturating_add(limit.interval().saturating_mul(amount.into()));
        let wait = after.saturating_sub(limit.interval().saturating_mul(limit.capacity.into()));
        Ok(Taken::read(limit, wait, full))
    })
}

/// Adds the arguments that a script needs to take tokens: the limit and the amount.
pub(super) fn taking(call: Builder, limit: Limit, amount: u32) -> Builder {
    call.arg(limit.interval()).arg(limit.capacity).arg(amount)
}

/// Adds the arguments that a script needs to take one token before a change; `None` if the change is not limited.
pub(super) fn throttling(call: Builder, limit: Option<(Limit, Timestamp)>) -> Builder {
    match limit {
        Some((limit, now)) => taking(call.arg(now.as_millis()), limit, 1),
        None => call.arg("").arg(0).arg(0).arg(0),
    }
}

/// Returns tokens to the bucket. If sent twice, may return the tokens twice, to the client's advantage.
pub fn give_back(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<bool> {
    let time = limit.interval().saturating_mul(amount.into());
    call(&script::RETURN_TOKENS).key(bucket).arg(now.as_millis()).arg(time).reply()
}
