//! Buckets: of something there is so much, and what was drawn comes back with time.
//!
//! What is kept of a bucket is one time, see `store/lua/part/bucket.lua`; whoever draws tells what time it is, so
//! servers whose clocks differ by a second grant one second more or less. Not here: what is drawn for whom
//! (`app::throttle`, `app::rate_limit`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::store::command::{Builder, Command, call, command};
use crate::store::key::{Bucket, Key};
use crate::store::script;

/// How much there is, and how fast it comes back.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Limit {
    /// How much fits: so much may be drawn at once.
    pub capacity: u32,
    /// In which time an empty bucket is full again.
    pub period: Duration,
}

impl Limit {
    /// In how many microseconds one comes back.
    fn interval(self) -> u64 {
        let period = u64::try_from(self.period.as_micros()).unwrap_or(u64::MAX);
        (period / u64::from(self.capacity.max(1))).max(1)
    }
}

/// What came of drawing.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Drawn {
    /// How long to wait until there is enough; `None` if it was drawn.
    pub wait: Option<Duration>,
    /// How much there is now.
    pub remaining: u32,
    /// In which time the bucket is full again.
    pub full_in: Duration,
}

impl Drawn {
    /// From the two times that a script returns, in microseconds.
    pub(super) fn read(limit: Limit, wait: u64, full: u64) -> Self {
        let missing = u32::try_from(full.div_ceil(limit.interval())).unwrap_or(u32::MAX);
        Self {
            wait: (wait > 0).then(|| Duration::from_micros(wait)),
            remaining: limit.capacity.saturating_sub(missing),
            full_in: Duration::from_micros(full),
        }
    }
}

/// Draws so much, if there is enough; else nothing. Sent twice, it may draw twice: one has the less of it.
///
/// Of more than ever fits there is never enough.
pub fn draw(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<Drawn> {
    let draw = drawing(call(&script::DRAW).key(bucket).arg(now.as_millis()), limit, amount);
    draw.reply::<(u64, u64)>().map(move |(wait, full)| Ok(Drawn::read(limit, wait, full)))
}

/// Takes what was used already, but no more than there is. Sent twice, it may take twice: one has the less of it.
pub fn drain(bucket: &Key<Bucket>, limit: Limit, used: u32, now: Timestamp) -> Command<u64> {
    drawing(call(&script::DRAIN).key(bucket).arg(now.as_millis()), limit, used).reply()
}

/// Returns what drawing so much would come to, and draws nothing.
pub fn peek(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<Drawn> {
    let now = u64::try_from(now.as_millis()).unwrap_or(0).saturating_mul(1_000);
    let full = command("GET").key(bucket).reply::<Option<u64>>();
    full.map(move |full| {
        let full = full.unwrap_or(0).saturating_sub(now);
        let after = full.saturating_add(limit.interval().saturating_mul(amount.into()));
        let wait = after.saturating_sub(limit.interval().saturating_mul(limit.capacity.into()));
        Ok(Drawn::read(limit, wait, full))
    })
}

/// The arguments of a script that say how much is drawn, and of how much.
pub(super) fn drawing(call: Builder, limit: Limit, amount: u32) -> Builder {
    call.arg(limit.interval()).arg(limit.capacity).arg(amount)
}

/// Gives back what was drawn. Sent twice, it may give back twice: one has the more of it.
pub fn give_back(bucket: &Key<Bucket>, limit: Limit, amount: u32, now: Timestamp) -> Command<bool> {
    let time = limit.interval().saturating_mul(amount.into());
    call(&script::GIVE_BACK).key(bucket).arg(now.as_millis()).arg(time).reply()
}
