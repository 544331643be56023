//! Counts daily unique visitors. Every user who sends a request counts once per day.
//!
//! A day goes through these steps:
//! 1. On the first visit, fix the number of shards.
//! 2. Add each visitor to one of the shards.
//! 3. Ten minutes after the end of the day, close every shard and count its visitors.
//! 4. Write the total to the archive.
//! 5. Set an expiry on the shards, and note that, for erasures.
//! 6. Remove the day from the list of days in Redis.
//!
//! Every process that archives runs steps 3 to 6. A process may repeat them, and two processes may run them
//! concurrently. While the archive is unavailable, days stay in Redis.
//!
//! A request counts for the day on which it arrived. A visit recorded after that day was closed counts for
//! the next day. Each visit counts for exactly one day, because a shard is closed and counted atomically.
//!
//! Not here: reading the counts (`history`).

mod close;
mod count;
pub mod history;
mod record;

pub use self::close::CLOSED_AFTER;
pub(super) use self::count::Counts;
pub(super) use self::record::Visits;
