//! Worker threads that serve connections. Each has a runtime of its own, and keeps a connection for its whole life.
//!
//! # Why not one runtime whose threads share all tasks
//! A request waits for Redis several times. If its task and the task of the connection to Redis run on different
//! threads, each wait wakes another thread, which takes longer than the work in between. On a worker thread, everything
//! that a request needs runs in turn: the client's connection, the request, and the worker's own connection to Redis.
//!
//! Tasks never move to another worker. Work that would keep a worker busy has its own threads (`thread`).

use std::cell::Cell;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::thread::{self, JoinHandle};
use std::{fmt, io};

use tokio::runtime::{Builder, Handle};
use tokio::sync::oneshot;

use crate::thread::STACK;

/// Maximum number of workers in a process.
pub const MOST: usize = 256;

thread_local! {
    /// The thread's lane.
    static LANE: Cell<usize> = const { Cell::new(0) };
}

/// Returns the number of processors, at most [`MOST`].
#[must_use]
pub fn processors() -> usize {
    thread::available_parallelism().map_or(1, usize::from).min(MOST)
}

/// Returns the current thread's lane: 1 to [`MOST`] for the threads of workers, and 0 for all other threads. Different
/// [`Workers`] have the same lanes.
#[must_use]
pub fn lane() -> usize {
    LANE.get()
}

/// The workers of a process. They stop when this value is dropped, and drop their unfinished tasks.
#[derive(Debug)]
pub struct Workers(Vec<Worker>);

struct Worker {
    runtime: Handle,
    /// Number of tasks started by [`Workers::spawn`] that have not ended.
    tasks: Arc<AtomicUsize>,
    stop: Option<oneshot::Sender<()>>,
    thread: Option<JoinHandle<()>>,
}

impl fmt::Debug for Worker {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        formatter.debug_struct("Worker").field("tasks", &self.tasks).finish_non_exhaustive()
    }
}

impl Workers {
    /// Starts this number of workers, at most [`MOST`].
    ///
    /// # Errors
    /// If the system does not allow further threads or files.
    pub fn start(count: usize) -> io::Result<Self> {
        (1..=count.min(MOST)).map(Worker::start).collect::<io::Result<_>>().map(Self)
    }

    /// Runs a task on every worker, and waits until all have ended.
    pub async fn on_each<F: Future<Output = ()> + Send + 'static>(&self, task: impl Fn() -> F) {
        let tasks: Vec<_> = self.0.iter().map(|worker| worker.runtime.spawn(task())).collect();
        // A panic of a task has already been reported.
        futures::future::join_all(tasks).await;
    }

    /// Runs a task on the worker that has the fewest.
    pub fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        let fewest = self.0.iter().min_by_key(|worker| worker.tasks.load(Ordering::Relaxed));
        if let Some(worker) = fewest {
            let counted = Counted::begin(&worker.tasks);
            worker.runtime.spawn(async move {
                task.await;
                drop(counted);
            });
        }
    }
}

impl Worker {
    fn start(lane: usize) -> io::Result<Self> {
        let runtime = Builder::new_current_thread().enable_all().build()?;
        let handle = runtime.handle().clone();
        let (stop, stopped) = oneshot::channel::<()>();
        let work = move || {
            LANE.set(lane);
            // An error means that the sender was dropped, which also stops the worker.
            drop(runtime.block_on(stopped));
        };
        let thread = thread::Builder::new().name(format!("worker {lane}")).stack_size(STACK).spawn(work)?;
        Ok(Self { runtime: handle, tasks: Arc::default(), stop: Some(stop), thread: Some(thread) })
    }
}

impl Drop for Worker {
    fn drop(&mut self) {
        drop(self.stop.take());
        if let Some(thread) = self.thread.take() {
            // A panic of the thread has already been reported.
            drop(thread.join());
        }
    }
}

/// A task of a worker, counted until this value is dropped.
struct Counted(Arc<AtomicUsize>);

impl Counted {
    fn begin(tasks: &Arc<AtomicUsize>) -> Self {
        tasks.fetch_add(1, Ordering::Relaxed);
        Self(Arc::clone(tasks))
    }
}

impl Drop for Counted {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}

#[cfg(test)]
mod tests {
    use std::sync::mpsc::channel;
    use std::time::Duration;

    use super::*;

    const LONG: Duration = Duration::from_secs(10);

    #[test]
    fn tasks_are_distributed_evenly_and_stay_on_their_worker() {
        let workers = Workers::start(3).unwrap();
        let (sender, lanes) = channel();
        for _ in 0..12 {
            let sender = sender.clone();
            workers.spawn(async move {
                let before = lane();
                tokio::time::sleep(Duration::from_millis(1)).await;
                assert_eq!(lane(), before);
                sender.send(lane()).unwrap();
                std::future::pending::<()>().await;
            });
        }
        let mut tasks = [0; 4];
        for _ in 0..12 {
            tasks[lanes.recv_timeout(LONG).unwrap()] += 1;
        }
        assert_eq!((tasks, lane()), ([0, 4, 4, 4], 0));
    }

    #[test]
    fn a_task_that_has_ended_or_panicked_makes_room() {
        let workers = Workers::start(2).unwrap();
        workers.spawn(async { panic!("a test") });
        workers.spawn(async {});
        while workers.0.iter().any(|worker| worker.tasks.load(Ordering::Relaxed) > 0) {
            thread::yield_now();
        }
    }

    #[test]
    fn dropped_workers_drop_their_tasks() {
        let workers = Workers::start(1).unwrap();
        let (sender, dropped) = channel::<()>();
        workers.spawn(async move {
            std::future::pending::<()>().await;
            drop(sender);
        });
        drop(workers);
        assert!(
            dropped
                .recv_timeout(LONG)
                .is_err_and(|error| error != std::sync::mpsc::RecvTimeoutError::Timeout)
        );
    }
}
