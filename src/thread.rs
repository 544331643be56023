//! Low-priority threads for CPU-bound work.
//!
//! # Why separate threads
//! At a lower priority, hashing a password or serializing a huge response does not delay cheap requests. A thread
//! cannot raise its priority again without privileges, so the runtime's threads cannot be used.

use std::{io, thread};

/// Stack size of threads that execute operations, in bytes. Resolvers nest as deeply as documents, and unoptimised
/// frames are large.
pub const STACK: usize = 8 << 20;

/// Nice value relative to normal threads. A low-priority thread that competes with a normal thread for a processor gets
/// a quarter of the processor's time.
#[cfg(target_os = "linux")]
const NICENESS: i32 = 5;

/// Starts a low-priority thread.
pub(crate) fn spawn(name: &str, work: impl FnOnce() + Send + 'static) -> io::Result<()> {
    let work = move || {
        lower_priority();
        work();
    };
    thread::Builder::new().name(name.to_owned()).stack_size(STACK).spawn(work).map(drop)
}

/// Lowers the calling thread's priority, on systems with per-thread priorities.
fn lower_priority() {
    #[cfg(target_os = "linux")]
    {
        // On Linux, `nice` applies to the calling thread only. If the call fails, the thread does the work anyway.
        let _ = rustix::process::nice(NICENESS);
    }
}
