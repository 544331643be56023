//! Storage of the names of a user's keys that expire and that nothing else names: publish attempts and edits, by the
//! digest of their idempotency key, and buckets for password attempts, by session. The scripts that write these keys
//! note their names in the same step (`store/lua/part/expiring.lua`), so that an erasure finds them.
//!
//! A name costs some 50 bytes until its key has expired.

use crate::model::id::UserId;
use crate::store::command::{Command, command};
use crate::store::key::Keys;

/// Maximum number of names read at a time.
const PAGE: usize = 500;

/// Reads names of a user's keys that expire, up to 500.
pub fn names(keys: &Keys, user: UserId) -> Command<Vec<String>> {
    command("ZRANGE").key(&keys.expiring(user)).arg(0).arg(PAGE - 1).reply()
}

/// Deletes a key with one of these names; `None` if it is no such name.
#[must_use]
pub fn delete(keys: &Keys, user: UserId, name: &str) -> Option<Command<i64>> {
    Some(command("UNLINK").key(&keys.expiring_named(user, name)?).reply())
}

/// Removes names of keys that were deleted.
///
/// # Panics
/// If `names` is empty.
pub fn forget(keys: &Keys, user: UserId, names: &[String]) -> Command<i64> {
    assert!(!names.is_empty(), "at least one name is removed");
    command("ZREM").key(&keys.expiring(user)).args(names).reply()
}
