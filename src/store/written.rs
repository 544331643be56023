//! Storage of notes on users who have written lately. They read masters for a while, because replicas may lack their
//! writes.
//!
//! Not here: when a user counts as having written (`app::own_writes`).

use std::time::Duration;

use crate::driver::replica::MOST_LAG;
use crate::model::id::UserId;
use crate::store::command::{Command, command};
use crate::store::key::Keys;

/// Notes that a user is about to write, for as long as the write may take (`most`) and replicas may
/// lag.
pub fn note(keys: &Keys, user: UserId, most: Duration) -> Command<String> {
    let note = command("SET").key(&keys.written(user)).arg(1).arg("PX");
    note.arg((most + 2 * MOST_LAG).as_millis().to_string()).reply()
}

/// Returns true if a user has written lately.
pub fn is_noted(keys: &Keys, user: UserId) -> Command<bool> {
    command("EXISTS").key(&keys.written(user)).reply()
}
