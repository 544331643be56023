//! What is kept to throttle those who guess passwords: from where an account was signed in to.
//!
//! It is kept by name, not in the user's slot: names that are nobody's go the same way as others. Not here: the
//! buckets themselves (`store::bucket`), or which one an attempt draws on (`app::throttle`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::store::command::{Command, command, transaction};
use crate::store::key::Keys;

/// For how long an address is remembered.
const REMEMBERED: Duration = Duration::from_hours(90 * 24);
/// Most addresses that are remembered of one account; the one not used for longest makes room for a further one.
const MOST_ADDRESSES: isize = 20;

/// Whether the account was signed in to from this address, not too long ago.
pub fn is_known(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
    let since = now.minus(REMEMBERED).as_millis();
    let read = command("ZSCORE").key(&keys.known_addresses(account)).arg(address.to_string());
    read.reply::<Option<i64>>().map(move |last| Ok(last.is_some_and(|last| last > since)))
}

/// Remembers that the account was signed in to from this address; `true` if that is new.
pub fn remember(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
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
