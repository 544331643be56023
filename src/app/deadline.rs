//! Writer deadlines.
//!
//! If the writer of a protocol that spans several slots is interrupted, the repairer finishes the protocol.
//! That is safe only if the writer starts no further write when it resumes after a long pause. Every writer
//! therefore checks its deadline before each step, and the repairer waits much longer than that before it
//! drops an operation or revokes an id. One case remains: a process that stalls for most of a minute between
//! the check and the write, and is killed right afterwards. `fanfold check` finds the damage.

use std::time::Duration;

use crate::app::error::{Broken, Error};
use crate::model::clock::{Clock, Timestamp};

/// Age of an operation after which its writer starts no further write.
pub(super) const WRITER_LIVES: Duration = Duration::from_secs(10);
/// Age of an operation after which the repairer picks it up.
pub(super) const REPAIRED_AFTER: Duration = Duration::from_secs(5);
/// Age of an operation after which it belongs to the repairer alone, which may drop or undo it. The
/// difference to [`WRITER_LIVES`] is the tolerated clock skew between two servers.
pub(super) const ABANDONED_AFTER: Duration = Duration::from_mins(1);

/// The time limit of one writer.
pub(super) struct Deadline<'a> {
    clock: &'a dyn Clock,
    began: Timestamp,
}

impl<'a> Deadline<'a> {
    pub(super) fn start(clock: &'a dyn Clock) -> Self {
        Self { clock, began: clock.now() }
    }

    /// Returns the time at which the operation began.
    pub(super) fn began(&self) -> Timestamp {
        self.began
    }

    /// Fails if it is too late for a further write.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.clock.now().since(self.began) < WRITER_LIVES { Ok(()) } else { Err(Broken::Late.into()) }
    }
}
