//! Known addresses of accounts, used to throttle password guessing.
//!
//! They are stored by username, not in the user's slot: names without an account are treated like any other.
//! Not here: the buckets themselves (`store::bucket`), or which bucket an attempt uses (`app::throttle`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::store::command::{Command, command, transaction};
use crate::store::key::Keys;

/// Retention of a known address.
const REMEMBERED: Duration = Duration::from_hours(90 * 24);
/// Maximum number of known addresses per account; the least recently used one is evicted.
const MOST_ADDRESSES: isize = 20;

/// Returns whether the account has recently been signed in to from this address.
pub fn is_known(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
    let since = now.minus(REMEMBERED).as_millis();
    let read = command("ZSCORE").key(&keys.known_addresses(account)).arg(address.to_string());
    read.reply::<Option<i64>>().map(move |last| Ok(last.is_some_and(|last| last > since)))
}

/// Records that the account was signed in to from this address; `true` if the address is new.
pub fn record(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
    let known = keys.known_addresses(account);
    let old = now.minus(REMEMBERED).as_millis();
    let remember = vec![
        command("ZADD").key(&known).arg("GT").arg(now.as_millis()).arg(address.to_string()),
        command("ZREMRANGEBYSCORE").key(&known).arg("-inf").arg(old),
        command("ZREMRANGEBYRANK").key(&known).arg(0).arg(-1 - MOST_ADDRESSES),
        command("EXPIRE").key(&known).arg(REMEMBERED.as_secs()),
    ];
    transaction::<Vec<i64>>(remember).map(|counts| Ok(counts.first() == Some(&1)))
}
