//! Threads of low priority, for work that keeps a processor busy.
//!
//! # Why separate threads
//! With a lower priority, hashing a password or printing megabytes never delays a cheap request. A thread cannot raise its
//! priority again without privileges, so the threads of the runtime cannot be used.

use std::{io, thread};

/// Stack size of threads that execute operations, in bytes. Resolvers nest as deep as documents, and unoptimised frames
/// are large.
pub const STACK: usize = 8 << 20;

/// Nice value relative to the other threads. Competing with one of them for a processor, a thread gets a quarter of it.
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
        // On Linux this applies to the calling thread only. The work is done even if it fails.
        let _ = rustix::process::nice(NICENESS);
    }
}
