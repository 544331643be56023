//! Fans out posts to followers' timelines, and removes deleted posts from them.
//!
//! A job traverses an author's followers in chunks, oldest follow first. It pushes only to existing
//! timelines. A missing timeline is rebuilt when its owner returns, and the post is visible by then. The
//! worker records the job's progress after each chunk, and a worker that takes over the job resumes there.
//! Processing a chunk is idempotent.
//!
//! Any number of processes take jobs from the queues, with one worker per partition in each process. A job
//! belongs to the worker that took it. If that worker is silent for five seconds, another worker takes over
//! the job. If a job has been started more than once without progress, the next worker runs it alone (unless
//! no worker is free to do so for a minute). After the fifth start without progress, the job is set aside.
//!
//! All jobs of a worker advance together, so that an author with many followers does not delay other authors.
//! Only a few jobs per author are in the queue. The author's other jobs are held back until these are done
//! (`store/lua/part/turns.lua`). Each round pushes to the same number of followers per author. Deliveries for
//! an author who publishes frequently therefore do not delay other authors either, and pause while other
//! authors publish. In a cluster, deliveries go on while some followers' timelines are unreachable (`active`). While a
//! worker delivers posts, it removes deleted posts slowly, because these are already
//! hidden.
//!
//! Not here: the storage of jobs (`store::fanout`), and their creation (`app::post`).

mod active;
mod lane;
pub(super) mod mark;
pub mod progress;

use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::app::delivery::lane::{Due, Lane};
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::store::batch::Batch;
use crate::store::draft;
use crate::store::fanout::{self, Kind, Queue};

/// Approximate maximum number of followers per round, over all jobs. A round exceeds it if the jobs' minimum
/// chunks add up to more.
const ROUND: usize = 2_000;
/// Approximate maximum number of timelines swept of deleted posts per round while the worker delivers posts.
const SWEPT_BESIDE: usize = 200;
/// Maximum number of concurrent deliveries per worker.
const MOST_DELIVERIES: usize = 256;
/// Maximum number of concurrent sweeps per worker. Their minimum chunks fit into [`SWEPT_BESIDE`].
const MOST_SWEEPS: usize = 4;
/// Pause after a round for authors with several jobs, as a multiple of the round's duration.
const REST: u32 = 3;
/// Time for which authors with several jobs keep pausing after another author's last job.
const OTHERS_EXPECTED: Duration = Duration::from_secs(1);
/// Maximum time for which an idle worker blocks for a job. Shorter than the response timeout.
const IDLE_WAIT: Duration = Duration::from_secs(2);
/// Number of rounds between a busy worker's takeover attempts.
const ROUNDS_BETWEEN_TAKE_OVERS: u32 = 100;
/// Timeout after which other workers take over the jobs of a silent worker. A round takes far less time.
const TAKEN_OVER_AFTER: Duration = Duration::from_secs(5);
/// Retry delay while the store is unavailable.
const PAUSE: Duration = Duration::from_secs(1);

/// The state of the delivery queues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Posts waiting to be delivered, or being delivered.
    pub jobs: u64,
    /// Age of the oldest of these jobs; zero if there are none.
    pub oldest: Duration,
    /// Deleted posts not yet removed from all timelines.
    pub sweeps: u64,
    /// Number of times that jobs have written a timeline since the store was created.
    pub served: u64,
    /// Jobs abandoned after too many failures.
    pub failed: u64,
    /// Posts whose publication is in progress.
    pub publishing: u64,
}

impl App {
    /// Returns the number of partitions. A job's author determines its partition.
    #[must_use]
    pub fn delivery_partitions(&self) -> u32 {
        self.keys().fanout_partitions()
    }

    /// Creates a worker for each partition.
    #[must_use]
    pub fn workers(&self) -> Vec<Worker> {
        (0..self.delivery_partitions()).map(|partition| self.worker(partition)).collect()
    }

    /// Creates a worker for `partition`.
    #[must_use]
    pub fn worker(&self, partition: u32) -> Worker {
        Worker::new(self.clone(), partition)
    }

    /// Requeues abandoned jobs. Returns their number.
    pub(super) async fn requeue(&self) -> Result<u64, Error> {
        /// Maximum number of jobs per batch.
        const COUNT: usize = 1_000;
        let mut requeued = 0;
        for partition in 0..self.delivery_partitions() {
            loop {
                let requeue = fanout::requeue(self.keys(), partition, COUNT);
                let count = requeue.send("deliver: requeue", self.store()).await?;
                requeued += count;
                if count < COUNT as u64 {
                    break;
                }
            }
        }
        Ok(requeued)
    }

    /// Returns the state of the delivery queues. Makes one round trip.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let keys = self.keys();
        let mut batch = Batch::new("backlog");
        let read = |queue: Queue| {
            let waiting = batch.push(fanout::waiting(keys, queue));
            (queue.kind, waiting, batch.push(fanout::oldest(keys, queue)))
        };
        let queues: Vec<_> = Queue::all(keys).map(read).collect();
        let partitions: Vec<_> = (0..self.delivery_partitions())
            .map(|partition| {
                (batch.push(fanout::served(keys, partition)), batch.push(fanout::failed(keys, partition)))
            })
            .collect();
        let publishing = batch.push(draft::publishing_count(keys));
        let mut replies = batch.send(self.store()).await?;

        let mut backlog = Backlog { publishing: replies.take(publishing)?, ..Backlog::default() };
        let mut oldest: Option<Timestamp> = None;
        for (kind, waiting, first) in queues {
            let (waiting, first) = (replies.take(waiting)?, replies.take(first)?);
            match kind {
                Kind::Deliver => {
                    backlog.jobs += waiting;
                    oldest = oldest.into_iter().chain(first).min();
                }
                Kind::Remove => backlog.sweeps += waiting,
            }
        }
        for (served, failed) in partitions {
            backlog.served += replies.take(served)?;
            backlog.failed += replies.take(failed)?;
        }
        backlog.oldest = oldest.map_or(Duration::ZERO, |oldest| self.now().since(oldest));
        Ok(backlog)
    }
}

/// A worker that processes one partition's jobs.
pub struct Worker {
    /// The app on the worker's own connection, or on the shared connections if the worker has none.
    app: App,
    /// The app on the process's shared connections.
    home: App,
    name: String,
    deliveries: Lane,
    sweeps: Lane,
    pace: Pace,
}

/// The pacing of jobs for authors with several jobs in the lane. These jobs run back to back, but pause while
/// other authors publish, so that the worker is free for the other authors' posts.
struct Pace {
    rests_until: Instant,
    /// Time at which the worker last held the only job of an author.
    others_at: Option<Instant>,
}

impl Pace {
    fn new() -> Self {
        Self { rests_until: Instant::now(), others_at: None }
    }

    /// Returns how long authors with several jobs must still pause; zero if their jobs may advance.
    fn rest(&self) -> Duration {
        self.rests_until.saturating_duration_since(Instant::now())
    }

    fn note_others(&mut self) {
        self.others_at = Some(Instant::now());
    }

    /// Schedules the pause after a round that began at `began`.
    fn note_round(&mut self, began: Instant) {
        if self.others_at.is_some_and(|at| at.elapsed() < OTHERS_EXPECTED) {
            self.rests_until = Instant::now() + began.elapsed() * REST;
        }
    }
}

impl Worker {
    fn new(app: App, partition: u32) -> Self {
        let name = format!("{:x}", app.rng().nonce());
        let deliveries = Lane::new(Queue { kind: Kind::Deliver, partition }, MOST_DELIVERIES);
        let sweeps = Lane::new(Queue { kind: Kind::Remove, partition }, MOST_SWEEPS);
        Self { home: app.clone(), app, name, deliveries, sweeps, pace: Pace::new() }
    }

    /// Gives the worker its own connection. The worker can then block for jobs, and requests do not queue
    /// behind its commands.
    #[must_use]
    pub fn apart(self) -> Self {
        let app = self.app.over(self.app.store().apart(), self.app.0.archive.clone());
        Self { app, ..self }
    }

    /// Runs until `stopping` completes, then returns unfinished jobs to the queue. The worker must be
    /// [`apart`](Self::apart).
    pub async fn work(mut self, stopping: impl Future<Output = ()>) {
        tokio::select! {
            () = self.keep_working() => {}
            () = stopping => {}
        }
        // Dropping the connection cancels the blocking read. If a job was in transit at that moment, another
        // worker takes it over within seconds.
        self.app = self.home.clone();
        if let Err(error) = self.give_back().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "cannot return jobs to the queue; another worker will take them over within seconds"
            );
        }
    }

    async fn keep_working(&mut self) {
        let mut rounds = 0;
        loop {
            let is_idle = self.is_idle();
            let idle_for = (is_idle || rounds == 0).then_some(TAKEN_OVER_AFTER);
            rounds = (rounds + 1) % ROUNDS_BETWEEN_TAKE_OVERS;
            let wait = if is_idle { Some(IDLE_WAIT) } else { self.rest() };
            if let Some(rest) = wait.filter(|_| self.deliveries.is_full()) {
                // The lane is full, so sleep instead of blocking for a new job.
                tokio::time::sleep(rest).await;
                continue;
            }
            if let Err(error) = self.turn(idle_for, wait).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "posts could not be delivered; retrying"
                );
                tokio::time::sleep(PAUSE).await;
                rounds = 0;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.deliveries.is_empty() && self.sweeps.is_empty()
    }

    /// Returns the maximum time to wait for a new job while all current jobs pause; `None` if a job may
    /// advance.
    fn rest(&self) -> Option<Duration> {
        if self.sweeps.has(Due::All) || self.deliveries.has(Due::Single) {
            return None;
        }
        let held_back = [&self.deliveries, &self.sweeps].into_iter().filter_map(Lane::rest).min();
        let is_paced = self.deliveries.has(Due::Crowded);
        let rest = if is_paced { self.pace.rest() } else { held_back.unwrap_or(IDLE_WAIT) };
        // Redis blocks for whole milliseconds; 0 means forever.
        (!rest.is_zero()).then_some(rest.max(Duration::from_millis(1)))
    }

    /// Runs until no jobs are left. Takes over jobs whose worker has been silent for `idle_for`. Fails if timelines are
    /// unavailable.
    pub async fn drain(&mut self, idle_for: Duration) -> Result<(), Error> {
        loop {
            // Only a worker that held no jobs before the turn has looked for jobs of every kind.
            let was_idle = self.is_idle();
            self.pace = Pace::new();
            let has_taken = self.turn(Some(idle_for), None).await?;
            self.deliveries.check_available()?;
            self.sweeps.check_available()?;
            if was_idle && !has_taken {
                return Ok(());
            }
        }
    }

    /// Takes available jobs and runs one round. Returns true if the worker took any jobs.
    async fn turn(&mut self, idle_for: Option<Duration>, wait: Option<Duration>) -> Result<bool, Error> {
        let Self { app, name, deliveries, sweeps, pace, .. } = self;
        // A blocked worker waits for deliveries only; it finds new sweeps on its next turn.
        let mut taken = 0;
        if idle_for.is_some() && !deliveries.is_closed() {
            taken += sweeps.take(app, name, deliveries, idle_for, None).await?;
        }
        if !sweeps.is_closed() {
            let wait = wait.filter(|_| taken == 0);
            taken += deliveries.take(app, name, sweeps, idle_for, wait).await?;
        }
        let beside = if deliveries.is_empty() { ROUND } else { SWEPT_BESIDE };
        if deliveries.has(Due::Single) {
            pace.note_others();
            deliveries.advance(app, name, ROUND, Due::Single).await?;
        }
        if pace.rest().is_zero() {
            let began = Instant::now();
            deliveries.advance(app, name, ROUND, Due::Crowded).await?;
            pace.note_round(began);
        }
        if !deliveries.is_closed() {
            sweeps.advance(app, name, beside, Due::All).await?;
        }
        Ok(taken > 0)
    }

    /// Returns all of this worker's jobs to their queues, including jobs whose reply was lost.
    async fn give_back(&mut self) -> Result<(), Error> {
        let lanes = [&mut self.deliveries, &mut self.sweeps];
        let give = |lane: &mut Lane| lane.give_back(&self.home, &self.name);
        self.home.send_all("deliver: return jobs", lanes.into_iter().map(give)).await?;
        Ok(())
    }
}
