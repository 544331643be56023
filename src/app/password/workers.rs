//! Dedicated low-priority threads, each of which hashes one password at a time.

use std::io;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;

use parking_lot::{Condvar, Mutex, MutexGuard};

use crate::thread;

use super::turns::{Limits, SlotId, Source, Turns};

/// A job waiting for its turn. Called once, with the outcome of waiting.
pub(super) type Job = Box<dyn FnOnce(Call) + Send>;

/// The outcome of waiting for a turn.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Call {
    /// The job's turn has come.
    Run,
    /// Another job has displaced this job.
    Displaced,
}

/// The threads and their queue. The threads exit when this value is dropped.
pub(super) struct Workers {
    shared: Arc<Shared>,
    most_threads: usize,
}

struct Shared {
    state: Mutex<State>,
    bell: Condvar,
}

struct State {
    turns: Turns<Job>,
    /// Number of running threads. Threads are started on demand.
    threads: usize,
    /// Number of idle threads.
    idle: usize,
    is_over: bool,
}

impl Workers {
    pub(super) fn new(most_threads: usize, limits: Limits) -> Self {
        let state = State { turns: Turns::new(limits), threads: 0, idle: 0, is_over: false };
        let shared = Shared { state: Mutex::new(state), bell: Condvar::new() };
        Self { shared: Arc::new(shared), most_threads }
    }

    /// Returns the number of waiting jobs.
    pub(super) fn waiting(&self) -> usize {
        self.shared.lock().turns.waiting()
    }

    /// Takes a place. Returns `None` if no place is available.
    pub(super) fn enter(&self, source: Source) -> Option<SlotId> {
        let (place, displaced) = self.shared.lock().turns.enter(source)?;
        // Called outside the lock, because the job releases its own place.
        if let Some(job) = displaced {
            job(Call::Displaced);
        }
        Some(place)
    }

    /// Releases a place.
    pub(super) fn leave(&self, place: SlotId) {
        self.shared.lock().turns.leave(place);
    }

    /// Queues a job that holds `place`, and starts a thread if too few threads are idle.
    pub(super) fn run(&self, place: SlotId, job: Job) -> io::Result<()> {
        let mut state = self.shared.lock();
        if state.idle <= state.turns.waiting() && state.threads < self.most_threads {
            let shared = Arc::clone(&self.shared);
            match thread::spawn("passwords", move || shared.work()) {
                Ok(()) => state.threads += 1,
                // The existing threads run the job.
                Err(_) if state.threads > 0 => {}
                Err(error) => return Err(error),
            }
        }
        let displaced = state.turns.wait(place, job);
        drop(state);
        match displaced {
            Ok(()) => drop(self.shared.bell.notify_one()),
            Err(job) => job(Call::Displaced),
        }
        Ok(())
    }
}

impl Drop for Workers {
    fn drop(&mut self) {
        self.shared.lock().is_over = true;
        self.shared.bell.notify_all();
    }
}

impl Shared {
    fn lock(&self) -> MutexGuard<'_, State> {
        self.state.lock()
    }

    fn work(&self) {
        while let Some(job) = self.next() {
            // A panic ends only this job. The job's channel then closes, and the caller receives an error.
            drop(catch_unwind(AssertUnwindSafe(|| job(Call::Run))));
        }
    }

    /// Waits for the next job. Returns `None` after shutdown, once no job is waiting.
    fn next(&self) -> Option<Job> {
        let mut state = self.lock();
        loop {
            if let Some(job) = state.turns.next() {
                return Some(job);
            }
            if state.is_over {
                return None;
            }
            state.idle += 1;
            self.bell.wait(&mut state);
            state.idle -= 1;
        }
    }
}
