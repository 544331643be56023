//! Bringing posts to the timelines of followers, and taking deleted ones out of them.
//!
//! A job goes through the followers of an author, oldest follow first, a chunk at a time. Only timelines
//! that exist receive: one that does not is filled anew when its owner comes back, after the post became
//! visible. How far the job is is noted after each chunk, so that whoever takes it over goes on from
//! there. A chunk that is gone through twice changes nothing the second time.
//!
//! Jobs are taken from queues by the workers of one group: a worker a partition in each process, and any
//! number of processes. A job belongs to the worker who has taken it, and is taken over when that worker
//! has not been heard of for some seconds. A job that was begun more than once without going forward is
//! begun by itself the next time (unless nobody has time for that for a minute), and after the fifth time
//! put aside. All the jobs of a worker go forward together, so that nobody's large audience keeps another's
//! waiting. Of each author only a few jobs are in the queue, the others are held back until these are done, and a round
//! serves as many followers of each author (`store/lua/part/turns.lua`), so an author who publishes much keeps no other
//! waiting, either; and while others publish, it has pauses. While posts are delivered, deleted ones are removed slowly: they are hidden already.
//!
//! Not here: how jobs are kept (`store::fanout`), who adds them (`app::post`).

mod lane;
pub(super) mod mark;

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

/// How many partitions the work is spread over, each by author.
pub const PARTITIONS: u32 = FANOUT_PARTITIONS;

/// About so many followers are served in a round, by all jobs together; more if there are so many jobs
/// that each can be given but the least there is to a chunk.
const ROUND: usize = 2_000;
/// About so many timelines are swept in a round while posts are delivered.
const SWEPT_BESIDE: usize = 200;
/// Most posts that a worker delivers at once.
const MOST_DELIVERIES: usize = 256;
/// Most that it sweeps at once: as many as have a chunk in what is swept beside.
const MOST_SWEEPS: usize = 4;
/// Length of the pause after a round of jobs of authors with several jobs, as a multiple of the round.
const REST: u32 = 3;
/// How long after a post of another author the pauses continue.
const OTHERS_EXPECTED: Duration = Duration::from_secs(1);
/// For how long a worker with nothing to do waits for a job: less than an answer may take.
const IDLE_WAIT: Duration = Duration::from_secs(2);
/// After how many rounds a busy worker looks for jobs to take over.
const ROUNDS_BETWEEN_TAKE_OVERS: u32 = 100;
/// From when on the job of a worker that is not heard of may be taken over. A round takes far less.
const TAKEN_OVER_AFTER: Duration = Duration::from_secs(5);
/// How long a worker waits when the store does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// How the queues of delivery stand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Posts that wait to be delivered, or are being delivered.
    pub jobs: u64,
    /// Since when the oldest of them waits; zero if there is none.
    pub oldest: Duration,
    /// Deleted posts that are still to be taken out of timelines.
    pub sweeps: u64,
    /// Timelines served, ever.
    pub served: u64,
    /// Jobs that were given up.
    pub failed: u64,
    /// Posts that are being published.
    pub publishing: u64,
}

impl App {
    /// A worker for each partition.
    #[must_use]
    pub fn workers(&self) -> Vec<Worker> {
        (0..PARTITIONS).map(|partition| self.worker(partition)).collect()
    }

    /// A worker for this partition.
    #[must_use]
    pub fn worker(&self, partition: u32) -> Worker {
        Worker::new(self.clone(), partition)
    }

    /// Puts the jobs that were given up back into their queues. Answers how many there were.
    pub(super) async fn requeue(&self) -> Result<u64, Error> {
        /// How many at once.
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

    /// How the queues of delivery stand. One round trip.
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

/// Whoever works on the jobs of one partition.
pub struct Worker {
    /// Over a connection of its own, if it is apart.
    app: App,
    /// Over the connections of the process.
    home: App,
    name: String,
    deliveries: Lane,
    sweeps: Lane,
    pace: Pace,
}

/// When jobs of authors with several jobs advance: at once, but with pauses while other authors publish, so that their
/// posts find an idle worker.
struct Pace {
    rests_until: Instant,
    /// When the worker last had a job of an author with no other job.
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

    /// Schedules the pause after a round that began then.
    fn note_round(&mut self, began: Instant) {
        if self.others_at.is_some_and(|at| at.elapsed() < OTHERS_EXPECTED) {
            self.rests_until = Instant::now() + began.elapsed() * REST;
        }
    }
}

impl Worker {
    fn new(app: App, partition: u32) -> Self {
        let name = format!("{:x}", app.chance().nonce());
        let deliveries = Lane::new(Queue { kind: Kind::Deliver, partition }, MOST_DELIVERIES);
        let sweeps = Lane::new(Queue { kind: Kind::Remove, partition }, MOST_SWEEPS);
        Self { home: app.clone(), app, name, deliveries, sweeps, pace: Pace::new() }
    }

    /// The same worker with a connection of its own, so that it can wait for jobs, and no request waits
    /// behind what it sends.
    #[must_use]
    pub fn apart(self) -> Self {
        let app = self.app.over(self.app.store().apart(), self.app.0.archive.clone());
        Self { app, ..self }
    }

    /// Works until `stopping` is done, then gives back what is not finished. Only for a worker that is
    /// [`apart`](Self::apart).
    pub async fn work(mut self, stopping: impl Future<Output = ()>) {
        tokio::select! {
            () = self.keep_working() => {}
            () = stopping => {}
        }
        // With its connection goes what it was waiting for. A job that was on its way just then is taken
        // over by another worker in a few seconds.
        self.app = self.home.clone();
        if let Err(error) = self.give_back().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "jobs could not be given back; they are taken over in a moment");
        }
    }

    async fn keep_working(&mut self) {
        let mut rounds = 0;
        loop {
            let is_idle = self.is_idle();
            let idle_for = (is_idle || rounds == 0).then_some(TAKEN_OVER_AFTER);
            rounds = (rounds + 1) % ROUNDS_BETWEEN_TAKE_OVERS;
            let wait = if is_idle { Some(IDLE_WAIT) } else { self.rest() };
            if let Err(error) = self.turn(idle_for, wait).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "posts cannot be delivered now; they will be"
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
        // Redis blocks for whole milliseconds, and for ever with 0.
        is_resting.then_some(rest.max(Duration::from_millis(1)))
    }

    /// Works until nothing is left, taking over what nobody has been at for so long.
    pub async fn drain(&mut self, idle_for: Duration) -> Result<(), Error> {
        loop {
            // Only who held nothing before has looked for everything.
            let was_idle = self.is_idle();
            self.pace = Pace::new();
            let has_taken = self.turn(Some(idle_for), None).await?;
            if was_idle && !has_taken {
                return Ok(());
            }
        }
    }

    /// Takes what there is to take, and does a round of it. Answers whether there was anything to take.
    async fn turn(&mut self, idle_for: Option<Duration>, wait: Option<Duration>) -> Result<bool, Error> {
        let Self { app, name, deliveries, sweeps, pace, .. } = self;
        // A worker that waits, waits for posts to deliver; what is to be swept it finds when it looks up.
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
            sweeps.advance(app, name, beside, Due::Single).await?;
            sweeps.advance(app, name, beside, Due::Crowded).await?;
        }
        Ok(taken > 0)
    }

    /// Gives back whatever is this worker's, held or lost on the way.
    async fn give_back(&mut self) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: give back");
        let lanes = [&mut self.deliveries, &mut self.sweeps];
        let give = |lane: &mut Lane| batch.push(lane.give_back(&self.home, &self.name));
        let tickets = lanes.into_iter().map(give).collect();
        batch.send(self.home.store()).await?.take_all(tickets)?;
        Ok(())
    }
}
