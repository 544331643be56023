//! How long a writer may live.
//!
//! A protocol over several slots is finished by the repairer if its writer is cut off. That is safe
//! only if the writer, should it come back from a long pause, starts no further write. So every
//! writer asks its deadline before each step, and the repairer waits much longer than that before
//! it forgets an operation or makes an id void. What remains is a process that is stopped for the
//! better part of a minute just between asking and sending, and cut off right after: `fanfold check`
//! finds what it tears.

use std::time::Duration;

use crate::app::error::{Broken, Error};
use crate::model::clock::{Clock, Timestamp};

/// From when on a writer starts no further write.
pub(super) const WRITER_LIVES: Duration = Duration::from_secs(10);
/// From when on the repairer looks at an operation.
pub(super) const REPAIRED_AFTER: Duration = Duration::from_secs(5);
/// From when on an operation is nobody's but the repairer's: it may be forgotten or undone. The
/// difference to [`WRITER_LIVES`] is how far the clocks of two servers may differ.
pub(super) const ABANDONED_AFTER: Duration = Duration::from_mins(1);

/// The end of a writer's life.
pub(super) struct Deadline<'a> {
    clock: &'a dyn Clock,
    began: Timestamp,
}

impl<'a> Deadline<'a> {
    pub(super) fn start(clock: &'a dyn Clock) -> Self {
        Self { clock, began: clock.now() }
    }

    /// When the operation began.
    pub(super) fn began(&self) -> Timestamp {
        self.began
    }

    /// Fails if it is too late for a further write.
    pub(super) fn check(&self) -> Result<(), Error> {
        if self.clock.now().since(self.began) < WRITER_LIVES { Ok(()) } else { Err(Broken::Late.into()) }
    }
}
