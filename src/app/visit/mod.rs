//! Daily unique visitors: every user who sends a request counts once per day.
//!
//! A day goes through these steps:
//! 1. With the first visitor, fix the number of shards.
//! 2. Add each visitor to one of the shards.
//! 3. Some minutes after the end of the day, close every shard and count its visitors.
//! 4. Write the total to the archive.
//! 5. Set an expiry on the shards.
//! 6. Remove the day from Redis.
//!
//! Every process that archives runs steps 3 to 6. They may be repeated, and run by two processes at a time.
//! While the archive is unavailable, days stay in Redis.
//!
//! A request counts for the day on which it arrived. A visitor recorded after that day was closed counts for
//! the next day. Each counts for exactly one, because closing a shard and counting it is atomic.
//!
//! Not here: reading the counts (`history`).

mod close;
mod count;
pub mod history;
mod record;

pub use self::close::CLOSED_AFTER;
pub(super) use self::count::Counts;
pub(super) use self::record::Visits;
