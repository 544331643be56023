//! Storage of accounts' known addresses, used to throttle password guessing.
//!
//! The addresses are stored by username digest, not in the user's slot, so that a username without an account
//! is treated like any other username. Not here: the buckets themselves (`store::bucket`), the choice of a
//! bucket for an attempt (`app::throttle`).

use std::time::Duration;

use crate::model::clock::Timestamp;
use crate::model::digest::Digest;
use crate::store::command::{Command, command, transaction};
use crate::store::key::Keys;

/// Retention of a known address after its last sign-in: 90 days.
const RETENTION: Duration = Duration::from_hours(90 * 24);
/// Maximum number of known addresses per account; a new address evicts the least recently used address.
const MOST_ADDRESSES: isize = 20;

/// Returns true if this address has recently signed in to the account.
pub fn is_known(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
    let since = now.minus(RETENTION).as_millis();
    let read = command("ZSCORE").key(&keys.known_addresses(account)).arg(address.to_string());
    read.reply::<Option<i64>>().map(move |last| Ok(last.is_some_and(|last| last > since)))
}

/// Forgets the addresses that have signed in to the account.
pub fn forget(keys: &Keys, account: Digest) -> Command<i64> {
    command("UNLINK").key(&keys.known_addresses(account)).reply()
}

/// Records a sign-in to the account from this address. Returns true if the address is new.
pub fn record(keys: &Keys, account: Digest, address: Digest, now: Timestamp) -> Command<bool> {
    let known = keys.known_addresses(account);
    let old = now.minus(RETENTION).as_millis();
    let remember = vec![
        command("ZADD").key(&known).arg("GT").arg(now.as_millis()).arg(address.to_string()),
        command("ZREMRANGEBYSCORE").key(&known).arg("-inf").arg(old),
        command("ZREMRANGEBYRANK").key(&known).arg(0).arg(-1 - MOST_ADDRESSES),
        command("EXPIRE").key(&known).arg(RETENTION.as_secs()),
    ];
    transaction::<Vec<i64>>(&remember).map(|counts| Ok(counts.first() == Some(&1)))
}
