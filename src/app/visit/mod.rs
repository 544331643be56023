//! Who came: every user who asks is counted once a day.
//!
//! A day goes through these steps:
//! 1. with the first who comes, it is fixed over how many shards it is spread;
//! 2. whoever comes is added to one of them;
//! 3. some minutes after its end every shard is closed, and what is in them counted;
//! 4. the number is written to the archive;
//! 5. the shards get their expiry;
//! 6. the day is forgotten in Redis.
//!
//! Steps 3 to 6 are done by every process that archives; each may be done again, and by two at a time. While the
//! archive is away, days stay in Redis.
//!
//! A request is of the day on which it came. Who is noted late, when that day is closed, is counted on the
//! next: on exactly one, because a shard is closed in the same moment as it is counted.
//!
//! Not here: telling what was counted (`history`).

mod close;
mod count;
pub mod history;
mod record;

pub use self::close::CLOSED_AFTER;
pub(super) use self::count::Counts;
pub(super) use self::record::Visits;
