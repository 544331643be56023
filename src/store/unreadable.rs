//! Unreadable stored data: data of one user or post is left out, so that it does not fail the rest of a
//! request.
//!
//! Only errors about the data itself count (a key of the wrong type, a malformed value). Transient errors
//! remain errors; otherwise readers would skip posts that are merely unavailable.

use std::collections::HashSet;
use std::sync::{LazyLock, Mutex, PoisonError};

use crate::store::batch::{Replies, Ticket};
use crate::store::error::Error;
use crate::store::metrics;

/// Maximum number of entries recorded as logged. When exceeded, entries are logged again.
const MOST_LOGGED: usize = 1_000;

/// The entries already logged. Each is logged once, since every reader encounters it.
static LOGGED: LazyLock<Mutex<HashSet<(&'static str, u64)>>> = LazyLock::new(Mutex::default);

impl Replies {
    /// Returns the reply to one command, or `None` if the stored data cannot be read. Such data is counted,
    /// and logged as the `kind` of data of the user or post with this `id`.
    pub fn take_readable<T>(
        &mut self,
        ticket: Ticket<T>,
        kind: &'static str,
        id: u64,
    ) -> Result<Option<T>, Error> {
        match self.take(ticket) {
            Ok(reply) => Ok(Some(reply)),
            Err(error) if error.is_about_data() => {
                leave_out(kind, id, &error);
                Ok(None)
            }
            Err(error) => Err(error),
        }
    }
}

fn leave_out(kind: &'static str, id: u64, error: &Error) {
    metrics::left_out(kind);
    let mut logged = LOGGED.lock().unwrap_or_else(PoisonError::into_inner);
    if logged.len() >= MOST_LOGGED {
        logged.clear();
    }
    if logged.insert((kind, id)) {
        let error = error as &dyn std::error::Error;
        tracing::error!(error, kind, id, "stored data cannot be read; it is left out until it is repaired");
    }
}
