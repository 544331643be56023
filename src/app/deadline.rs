//! Deadlines that stop a stalled writer before the repairer takes over its operation.
//!
//! If a writer is interrupted during a protocol that spans several slots, the repairer finishes the protocol.
//! That is safe only if a writer that resumes after a long pause starts no further writes. Every writer
//! therefore checks its deadline before each step, and the repairer waits much longer than the deadline
//! before it drops an operation or revokes an id. One case remains: a process that stalls for most of a
//! minute between the check and the write, and is killed right after the write. `fanfold check` detects the
//! damage.

use std::time::Duration;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::model::clock::{Clock, Timestamp};

/// Age of an operation after which its writer starts no further writes.
pub(super) const WRITER_LIVES: Duration = Duration::from_secs(10);
/// Age of an operation after which the repairer repeats it.
pub(super) const REPAIRED_AFTER: Duration = Duration::from_secs(5);
/// Age of an operation after which only the repairer acts on it. The repairer may then drop or undo it. The
/// margin over [`WRITER_LIVES`] is the tolerated clock skew between two servers.
pub(super) const ABANDONED_AFTER: Duration = Duration::from_mins(1);

/// A writer's time limit, measured from the creation of this value.
pub(super) struct Deadline<'a> {
    clock: &'a dyn Clock,
    began: Timestamp,
}

impl App {
    /// Begins an operation now.
    pub(super) fn deadline(&self) -> Deadline<'_> {
        Deadline { clock: &*self.0.clock, began: self.now() }
    }
}

impl Deadline<'_> {
    /// Returns the time at which the operation began.
    pub(super) fn began(&self) -> Timestamp {
        self.began
    }

    /// Fails with [`Broken::Late`] if the deadline has passed.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.clock.now().since(self.began) < WRITER_LIVES { Ok(()) } else { Err(Broken::Late.into()) }
    }
}
