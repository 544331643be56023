//! Threads beside those that serve: for work that keeps a processor busy and is not in a hurry.
//!
//! # Why threads of their own
//! They have a lower priority, so a reader never waits for a processor that hashes a password or prints megabytes. A
//! priority once lowered cannot be raised again without privileges, so threads that others use as well would not do.

use std::{io, thread};

/// The stack of every thread that executes operations, in bytes: resolvers nest as deep as documents may, and without
/// optimisation they take much.
pub const STACK: usize = 8 << 20;

/// How much nicer the threads are than the others: where both want a processor all the time, they get a quarter of it,
/// so that their work goes on.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Starts a thread of low priority.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let work = move || {
        lower_priority();
        work();
    };
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// Lowers the priority of this thread, where threads have one of their own.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // On Linux this is about the calling thread only. If it cannot be nicer, work is done all the same.
        let _ = rustix::process::nice(NICENESS);
    }
}
