//! Handles unreadable stored data. Readers leave out the affected user or post, so that the rest of a request
//! succeeds.
//!
//! Only errors about the data itself count: a key of the wrong type, or a malformed value. Transient errors
//! remain errors; otherwise, readers would skip posts that are merely unavailable.

use std::collections::HashSet;
use std::sync::LazyLock;

use parking_lot::Mutex;

use crate::metric;
use crate::store::batch::{Replies, Ticket};
use crate::store::error::Error;

/// Maximum number of entries in the cache. At this limit, the cache is cleared, and its entries may be logged
/// again.
const MOST_LOGGED: usize = 1_000;

/// Cache of entries already logged. Every reader encounters an unreadable entry, but it is logged only once.
static LOGGED: LazyLock<Mutex<HashSet<(&'static str, u64)>>> = LazyLock::new(Mutex::default);

impl Replies {
    /// Returns one command's reply, or `None` if the stored data is unreadable. Counts unreadable data by
    /// `kind`, and logs its `kind` and the `id` of the user or post.
    pub fn take_readable<T>(
        &mut self,
        ticket: Ticket<T>,
        kind: &'static str,
        id: u64,
    ) -> Result<Option<T>, Error> {
        readable(self.take(ticket), kind, id)
    }
}

/// Returns decoded data, or `None` if the stored data is unreadable. Counts and logs unreadable data like
/// [`Replies::take_readable`].
pub fn readable<T>(decoded: Result<T, Error>, kind: &'static str, id: u64) -> Result<Option<T>, Error> {
    match decoded {
        Ok(data) => Ok(Some(data)),
        Err(error) if error.is_about_data() => {
            leave_out(kind, id, &error);
            Ok(None)
        }
        Err(error) => Err(error),
    }
}

fn leave_out(kind: &'static str, id: u64, error: &Error) {
    metric::unreadable_total(kind).increment(1);
    let mut logged = LOGGED.lock();
    if logged.len() >= MOST_LOGGED {
        logged.clear();
    }
    if logged.insert((kind, id)) {
        let error = error as &dyn std::error::Error;
        tracing::error!(error, kind, id, "stored data cannot be read and is left out until repaired");
    }
}
