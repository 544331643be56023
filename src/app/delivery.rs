//! Bringing posts to the timelines of followers, and taking deleted ones out of them.
//!
//! A job goes through the followers of an author, oldest follow first, a chunk at a time. Only timelines
//! that exist receive: one that does not is filled anew when its owner comes back, after the post became
//! visible. How far the job is is noted after each chunk, so that whoever takes it over goes on from
//! there. A chunk that is gone through twice changes nothing the second time.
//!
//! Jobs are taken from streams by the workers of one group: a worker a partition in each process, and
//! any number of processes. A job belongs to the worker who has taken it, and is taken over when that
//! worker has not been heard of for some seconds. A job that was begun five times is put aside. All the
//! jobs of a worker go forward together, so that nobody's large audience keeps another's waiting; posts
//! are brought before others are taken out.
//!
//! Not here: how jobs are kept (`store::fanout`), who adds them (`app::post`).

use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::model::clock::Timestamp;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, Side};
use crate::store::batch::{Batch, Ticket};
use crate::store::command::Command;
use crate::store::fanout::{self, Job, Kind, Progress, Task};
use crate::store::key::FANOUT_PARTITIONS;
use crate::store::{self, post, relation, timeline};

/// Most followers of one job in a chunk.
const CHUNK: usize = 1_000;
/// Fewest, however many jobs a worker has.
const LEAST_CHUNK: usize = 50;
/// About so many followers are served in a round, by all jobs together.
const ROUND: usize = 2_000;
/// Most jobs that a worker has at once.
const MOST_JOBS: usize = 64;
/// For how long a worker with nothing to do waits for a job: less than an answer may take.
const IDLE_WAIT: Duration = Duration::from_secs(2);
/// After how many rounds a busy worker looks for jobs to take over.
const ROUNDS_BETWEEN_TAKE_OVERS: u32 = 100;
/// From when on the job of a worker that is not heard of may be taken over. A round takes far less.
const TAKEN_OVER_AFTER: Duration = Duration::from_secs(5);
/// How long a worker waits when the store does not answer.
const PAUSE: Duration = Duration::from_secs(1);

/// A job that a worker has.
struct Active {
    id: String,
    task: Task,
    progress: Progress,
    /// The followers who are served next; `None` before the first were read.
    chunk: Option<Page<Follow>>,
}

/// Whoever works on the jobs of one partition.
pub struct Worker {
    app: App,
    partition: u32,
    name: String,
    jobs: Vec<Active>,
}

/// How the queues of delivery stand.
#[derive(Clone, Copy, Debug, Default, PartialEq)]
pub struct Backlog {
    /// Jobs that wait or are under way.
    pub jobs: u64,
    /// Since when the oldest of them waits; zero if there is none.
    pub oldest: Duration,
    /// Timelines served, ever.
    pub served: u64,
    /// Jobs that were given up.
    pub failed: u64,
}

impl App {
    /// A worker for each partition.
    #[must_use]
    pub fn workers(&self) -> Vec<Worker> {
        (0..FANOUT_PARTITIONS).map(|partition| Worker::new(self.clone(), partition)).collect()
    }

    /// How the queues of delivery stand. One round trip.
    pub async fn backlog(&self) -> Result<Backlog, Error> {
        let mut batch = Batch::new("backlog");
        let read = |partition| {
            let waiting = batch.push(fanout::waiting(self.keys(), partition));
            let oldest = batch.push(fanout::oldest(self.keys(), partition));
            let served = batch.push(fanout::served(self.keys(), partition));
            (waiting, oldest, served, batch.push(fanout::failed(self.keys(), partition)))
        };
        let tickets: Vec<_> = (0..FANOUT_PARTITIONS).map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut backlog = Backlog::default();
        let mut oldest: Option<Timestamp> = None;
        for (waiting, first, served, failed) in tickets {
            backlog.jobs += replies.take(waiting)?;
            oldest = oldest.into_iter().chain(replies.take(first)?).min();
            backlog.served += replies.take(served)?;
            backlog.failed += replies.take(failed)?;
        }
        backlog.oldest = oldest.map_or(Duration::ZERO, |oldest| self.now().since(oldest));
        Ok(backlog)
    }
}

impl Worker {
    fn new(app: App, partition: u32) -> Self {
        let name = format!("{:x}", app.chance().nonce());
        Self { app, partition, name, jobs: Vec::new() }
    }

    /// The same worker with a connection of its own, so that it can wait for jobs, and no request waits
    /// behind what it sends.
    #[must_use]
    pub fn apart(self) -> Self {
        let app = self.app.over(self.app.store().apart());
        Self { app, ..self }
    }

    /// Works until `stopping` is done, then gives back what is not finished. Only for a worker that is
    /// [`apart`](Self::apart).
    pub async fn work(&mut self, stopping: impl Future<Output = ()>) {
        tokio::select! {
            () = self.keep_working() => {}
            () = stopping => {}
        }
        if let Err(error) = self.give_back().await {
            let error = &error as &dyn std::error::Error;
            tracing::warn!(error, "jobs could not be given back; they are taken over in a moment");
        }
    }

    async fn keep_working(&mut self) {
        let mut rounds = 0;
        loop {
            let is_idle = self.jobs.is_empty();
            let looks_around = is_idle || rounds % ROUNDS_BETWEEN_TAKE_OVERS == 0;
            let idle_for = looks_around.then_some(TAKEN_OVER_AFTER);
            if let Err(error) = self.turn(idle_for, is_idle.then_some(IDLE_WAIT)).await {
                tracing::warn!(
                    error = &error as &dyn std::error::Error,
                    "posts cannot be delivered now; they will be"
                );
                tokio::time::sleep(PAUSE).await;
            }
            rounds = (rounds + 1) % ROUNDS_BETWEEN_TAKE_OVERS;
        }
    }

    /// Works until nothing is left, taking over what nobody has been at for so long.
    pub async fn drain(&mut self, idle_for: Duration) -> Result<(), Error> {
        self.turn(Some(idle_for), None).await?;
        while !self.jobs.is_empty() {
            self.turn(None, None).await?;
        }
        Ok(())
    }

    /// Takes what there is to take, and does a round of it.
    async fn turn(&mut self, idle_for: Option<Duration>, wait: Option<Duration>) -> Result<(), Error> {
        let room = MOST_JOBS.saturating_sub(self.jobs.len());
        let mut taken = Vec::new();
        if let Some(idle_for) = idle_for {
            let idle_for = millis(idle_for);
            let take = fanout::take_over(self.app.keys(), self.partition, &self.name, idle_for, room);
            taken = take.send("deliver: take over", self.app.store()).await?;
        }
        let room = room.saturating_sub(taken.len());
        if room > 0 {
            let wait = wait.filter(|_| taken.is_empty()).map(millis);
            let take = fanout::take(self.app.keys(), self.partition, &self.name, room, wait);
            taken.extend(take.send("deliver: take", self.app.store()).await?);
        }
        self.begin(taken).await?;
        self.round().await
    }

    /// Sees how far each job is.
    async fn begin(&mut self, jobs: Vec<Job>) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: begin");
        let mut begun = Vec::new();
        for Job { id, task } in jobs {
            if let Some(task) = task {
                let progress = batch.push(fanout::progress(self.app.keys(), &task));
                begun.push((id, task, progress));
            } else {
                tracing::warn!(%id, "a job is left to the newer version that added it");
                self.let_go(&id).await?;
            }
        }
        let mut replies = batch.send(self.app.store()).await?;
        for (id, task, progress) in begun {
            let progress = replies.take(progress)?.unwrap_or_default();
            self.jobs.push(Active { id, task, progress, chunk: None });
        }
        Ok(())
    }

    /// One chunk of each job, all together. Two round trips; one more when jobs begin or end.
    async fn round(&mut self) -> Result<(), Error> {
        // Nobody waits for a post to be taken out of timelines where it is not shown any more.
        let urgent = self.jobs.iter().any(|job| job.task.kind == Kind::Deliver);
        let (mut jobs, later): (Vec<Active>, Vec<Active>) = std::mem::take(&mut self.jobs)
            .into_iter()
            .partition(|job| !urgent || job.task.kind == Kind::Deliver);
        let done = self.advance(&mut jobs).await;
        self.jobs = jobs;
        self.jobs.extend(later);
        done
    }

    /// Serves a chunk of followers of each job. Jobs that are done, that belong to somebody else now or
    /// that cannot be done are no longer among them afterwards.
    async fn advance(&self, jobs: &mut Vec<Active>) -> Result<(), Error> {
        let size = (ROUND / jobs.len().max(1)).clamp(LEAST_CHUNK, CHUNK);
        self.read_first_chunks(jobs, size).await?;
        let received = self.serve(jobs).await?;
        let finished = self.note(jobs, received, size).await?;
        self.finish(&finished).await
    }

    async fn read_first_chunks(&self, jobs: &mut Vec<Active>, size: usize) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: followers");
        let read = |job: &Active| job.chunk.is_none().then(|| batch.push(self.followers(job, size)));
        let tickets: Vec<_> = jobs.iter().map(read).collect();
        let mut replies = batch.send(self.app.store()).await?;
        let mut readable = Vec::with_capacity(jobs.len());
        for (mut job, ticket) in std::mem::take(jobs).into_iter().zip(tickets) {
            match ticket.map(|ticket| replies.take(ticket)).transpose() {
                Ok(None) => readable.push(job),
                Ok(Some(page)) => {
                    job.chunk = Some(page);
                    readable.push(job);
                }
                Err(error) => self.fail(&job, &error).await?,
            }
        }
        *jobs = readable;
        Ok(())
    }

    /// The followers after those who were served, oldest follow first: of the list, which is newest first,
    /// the part before the cursor.
    fn followers(&self, job: &Active, size: usize) -> Command<Page<Follow>> {
        let window = Window { direction: Direction::Backward, size, from: job.progress.cursor };
        relation::page(self.app.keys(), job.task.author, Side::Followers, &window)
    }

    /// Brings posts to the timelines of a chunk of followers, or takes them out. Answers how many
    /// timelines of each job have received its post. A timeline that cannot be written holds no other up.
    async fn serve(&self, jobs: &[Active]) -> Result<Vec<u64>, Error> {
        let mut batch = Batch::new("deliver: timelines");
        let capacity = self.app.0.timeline.timeline_capacity;
        let mut serve = |job: &Active, follow: &Follow| {
            let Task { kind, post, .. } = job.task;
            let command = match kind {
                Kind::Deliver => timeline::deliver(self.app.keys(), follow.user, post, capacity),
                Kind::Remove => timeline::remove(self.app.keys(), follow.user, post),
            };
            (follow.user, batch.push(command))
        };
        let serve_all = |job: &Active| job.entries().iter().map(|follow| serve(job, follow)).collect();
        let tickets: Vec<Vec<_>> = jobs.iter().map(serve_all).collect();
        let mut replies = batch.send(self.app.store()).await?;
        let mut received = Vec::with_capacity(jobs.len());
        for (job, tickets) in jobs.iter().zip(tickets) {
            let mut count = 0;
            for (user, ticket) in tickets {
                match replies.take(ticket) {
                    Ok(has_received) => count += u64::from(has_received),
                    // Redis is full, or stands still: all of it is done again.
                    Err(error @ store::error::Error::Unavailable(_)) => return Err(error.into()),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(error, %user, post = %job.task.post, "a timeline cannot be written");
                    }
                }
            }
            received.push(count);
        }
        Ok(received)
    }

    /// Notes how far the jobs are, and reads the next chunk of those that are not done. Answers those that
    /// are.
    async fn note(
        &self,
        jobs: &mut Vec<Active>,
        received: Vec<u64>,
        size: usize,
    ) -> Result<Vec<Active>, Error> {
        let mut batch = Batch::new("deliver: progress");
        let mut steps = Vec::with_capacity(jobs.len());
        for (job, received) in jobs.iter_mut().zip(received) {
            job.progress.served += job.entries().len() as u64;
            if let Some(newest) = job.entries().first() {
                job.progress.cursor = Some(Position::from(*newest));
            }
            let Active { id, task, progress, .. } = &*job;
            let is_last = job.chunk.as_ref().is_none_or(|page| !page.has_previous);
            let note = fanout::note_progress(self.app.keys(), &self.name, id, task, progress, received);
            let note = batch.push(note);
            steps.push(if is_last {
                Step::Last(
                    note,
                    batch.push(post::mark_delivered(self.app.keys(), task.post, progress.served)),
                )
            } else {
                Step::Next(note, batch.push(self.followers(job, size)))
            });
            job.chunk = None;
        }
        let mut replies = batch.send(self.app.store()).await?;
        let mut finished = Vec::new();
        let mut open = Vec::new();
        for (mut job, step) in std::mem::take(jobs).into_iter().zip(steps) {
            match step {
                Step::Last(note, mark) => {
                    replies.take(note)?;
                    replies.take(mark)?;
                    finished.push(job);
                }
                Step::Next(note, next) => match (replies.take(note), replies.take(next)) {
                    (Ok(true), Ok(page)) => {
                        job.chunk = Some(page);
                        open.push(job);
                    }
                    // It was taken over.
                    (Ok(false), _) => {}
                    (Err(error), _) | (_, Err(error)) => self.fail(&job, &error).await?,
                },
            }
        }
        *jobs = open;
        Ok(finished)
    }

    async fn finish(&self, jobs: &[Active]) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: finish");
        let finish = |job: &Active| batch.push(fanout::finish(self.app.keys(), &job.id, &job.task));
        let tickets = jobs.iter().map(finish).collect();
        batch.send(self.app.store()).await?.take_all(tickets)?;
        Ok(())
    }

    async fn fail(&self, job: &Active, error: &store::error::Error) -> Result<(), Error> {
        let Active { id, task: Task { post, author, .. }, .. } = job;
        tracing::error!(
            error = error as &dyn std::error::Error,
            %post,
            %author,
            "a post cannot be delivered now"
        );
        self.let_go(id).await
    }

    /// A job that cannot be done now is tried again in a while, and put aside if it fails too often.
    async fn let_go(&self, job: &str) -> Result<(), Error> {
        let let_go = fanout::let_go(self.app.keys(), self.partition, job);
        let_go.send("deliver: let go", self.app.store()).await?;
        Ok(())
    }

    async fn give_back(&mut self) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: give back");
        let give = |job: &Active| batch.push(fanout::give_back(self.app.keys(), self.partition, &job.id));
        let tickets = self.jobs.iter().map(give).collect();
        batch.send(self.app.store()).await?.take_all(tickets)?;
        self.jobs.clear();
        Ok(())
    }
}

/// What comes after a chunk.
enum Step {
    /// There are no more followers.
    Last(Ticket<bool>, Ticket<bool>),
    /// There are.
    Next(Ticket<bool>, Ticket<Page<Follow>>),
}

impl Active {
    /// The followers of the chunk, newest follow first.
    fn entries(&self) -> &[Follow] {
        self.chunk.as_ref().map_or(&[], |page| &page.entries)
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
