//! Fan-out of posts to the timelines of followers, and removal of deleted posts from them.
//!
//! A job walks the followers of an author in chunks, oldest follow first. It pushes only to timelines that
//! exist: a missing one is rebuilt when its owner returns, after the post became visible. The progress of the
//! job is recorded after each chunk, so that a worker that takes it over resumes there. Processing a chunk
//! twice is idempotent.
//!
//! Jobs are taken from queues by one group of workers: one worker per partition in each process, and any
//! number of processes. A job belongs to the worker that took it, and is taken over when that worker has been
//! silent for some seconds. A job that was begun more than once without progress is next begun alone (unless
//! no worker is free to do so for a minute), and set aside after the fifth attempt. All jobs of a worker
//! advance together, so that an author with many followers does not delay the others. Only a few jobs of each
//! author are in the queue; the rest are held back until those are done. Each round pushes to the same number
//! of followers per author (`store/lua/part/turns.lua`). An author who publishes a lot therefore does not
//! delay others either, and has pauses while others publish. While posts are delivered, deleted posts are
//! removed slowly: they are hidden already.
//!
//! Not here: the storage of jobs (`store::fanout`), and their creation (`app::post`).

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
use crate::store::key::FANOUT_PARTITIONS;

/// Number of partitions that jobs are spread over, by author.
pub const PARTITIONS: u32 = FANOUT_PARTITIONS;

/// Approximate number of followers per round, over all jobs. Exceeded if the minimum chunks of all jobs are more.
const ROUND: usize = 2_000;
/// Approximate number of timelines swept per round while posts are delivered.
const SWEPT_BESIDE: usize = 200;
/// Maximum number of posts that a worker delivers at once.
const MOST_DELIVERIES: usize = 256;
/// Maximum number of sweeps at once: as many chunks as fit into [`SWEPT_BESIDE`].
const MOST_SWEEPS: usize = 4;
/// Length of the pause after a round of jobs of authors with several jobs, as a multiple of the round.
const REST: u32 = 3;
/// Time for which pauses continue after the last post of another author.
const OTHERS_EXPECTED: Duration = Duration::from_secs(1);
/// Blocking time of an idle worker waiting for a job; shorter than the response timeout.
const IDLE_WAIT: Duration = Duration::from_secs(2);
/// Number of rounds between two takeover attempts of a busy worker.
const ROUNDS_BETWEEN_TAKE_OVERS: u32 = 100;
/// Silence of a worker after which its jobs may be taken over. A round takes far less.
const TAKEN_OVER_AFTER: Duration = Duration::from_secs(5);
/// Retry delay while the store is unavailable.
const PAUSE: Duration = Duration::from_secs(1);

/// The state of the delivery queues.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Posts waiting to be delivered, or being delivered.
    pub jobs: u64,
    /// Age of the oldest of them; zero if there is none.
    pub oldest: Duration,
    /// Deleted posts still to be removed from timelines.
    pub sweeps: u64,
    /// Timelines pushed to since the store was created.
    pub served: u64,
    /// Jobs that were abandoned.
    pub failed: u64,
    /// Posts being published.
    pub publishing: u64,
}

impl App {
    /// Creates a worker for each partition.
    #[must_use]
    pub fn workers(&self) -> Vec<Worker> {
        (0..PARTITIONS).map(|partition| self.worker(partition)).collect()
    }

    /// Creates a worker for this partition.
    #[must_use]
    pub fn worker(&self, partition: u32) -> Worker {
        Worker::new(self.clone(), partition)
    }

    /// Returns abandoned jobs to their queues. Returns their number.
    pub(super) async fn requeue(&self) -> Result<u64, Error> {
        /// Jobs per batch.
        const COUNT: usize = 1_000;
        let mut requeued = 0;
        for partition in 0..PARTITIONS {
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

    /// Returns the state of the delivery queues. One round trip.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let keys = self.keys();
        let mut batch = Batch::new("backlog");
        let read = |queue: Queue| {
            let waiting = batch.push(fanout::waiting(keys, queue));
            (queue.kind, waiting, batch.push(fanout::oldest(keys, queue)))
        };
        let queues: Vec<_> = Queue::all().map(read).collect();
        let partitions: Vec<_> = (0..PARTITIONS)
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

/// A worker that processes the jobs of one partition.
pub struct Worker {
    /// The app over the worker's own connection, if it is apart.
    app: App,
    /// The app over the shared connections of the process.
    home: App,
    name: String,
    deliveries: Lane,
    sweeps: Lane,
    pace: Pace,
}

/// The schedule for jobs of authors with several jobs: immediate, but with pauses while other authors
/// publish, so that their posts find an idle worker.
struct Pace {
    rests_until: Instant,
    /// Time at which the worker last had a job of an author with no other job.
    others_at: Option<Instant>,
}

impl Pace {
    fn new() -> Self {
        Self { rests_until: Instant::now(), others_at: None }
    }

    /// Returns the time until jobs of authors with several jobs may advance.
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

    /// Returns the same worker with its own connection, so that it can block for jobs and no request queues
    /// behind its commands.
    #[must_use]
    pub fn apart(self) -> Self {
        let app = self.app.over(self.app.store().apart(), self.app.0.archive.clone());
        Self { app, ..self }
    }

    /// Runs until `stopping` completes, then returns unfinished jobs to the queue. Only for a worker that is
    /// [`apart`](Self::apart).
    pub async fn work(mut self, stopping: impl Future<Output = ()>) {
        tokio::select! {
            () = self.keep_working() => {}
            () = stopping => {}
        }
        // Dropping the connection cancels the blocking read. A job that was in transit at that moment is
        // taken over by another worker within seconds.
        self.app = self.home.clone();
        if let Err(error) = self.give_back().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(
                error,
                "jobs could not be returned to the queue; another worker takes them over soon"
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
                // No job can be taken meanwhile, so there is nothing to wait for but the time.
                tokio::time::sleep(rest).await;
                continue;
            }
            if let Err(error) = self.turn(idle_for, wait).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "posts cannot be delivered now; retrying"
                );
                tokio::time::sleep(PAUSE).await;
                rounds = 0;
            }
        }
    }

    fn is_idle(&self) -> bool {
        self.deliveries.is_empty() && self.sweeps.is_empty()
    }

    /// Returns how long to wait for a new job while all current ones pause.
    fn rest(&self) -> Option<Duration> {
        let rest = self.pace.rest();
        let is_resting = !rest.is_zero() && self.sweeps.is_empty() && !self.deliveries.has(Due::Single);
        // Redis blocks for whole milliseconds, and forever with 0.
        is_resting.then_some(rest.max(Duration::from_millis(1)))
    }

    /// Runs until nothing is left. Takes over jobs whose worker has been silent for `idle_for`.
    pub async fn drain(&mut self, idle_for: Duration) -> Result<(), Error> {
        loop {
            // Only a worker that held nothing before has searched for every kind of job.
            let was_idle = self.is_idle();
            self.pace = Pace::new();
            let has_taken = self.turn(Some(idle_for), None).await?;
            if was_idle && !has_taken {
                return Ok(());
            }
        }
    }

    /// Takes available jobs and runs one round. Returns whether it took any.
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

    /// Returns all jobs of this worker to their queues, including those lost in transit.
    async fn give_back(&mut self) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: return jobs");
        let lanes = [&mut self.deliveries, &mut self.sweeps];
        let give = |lane: &mut Lane| batch.push(lane.give_back(&self.home, &self.name));
        let tickets = lanes.into_iter().map(give).collect();
        batch.send(self.home.store()).await?.take_all(tickets)?;
        Ok(())
    }
}
