//! Advances a worker's jobs of one kind together.

use std::collections::{HashMap, HashSet};
use std::sync::Arc;
use std::time::Duration;

use crate::app::App;
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, Side};
use crate::store::batch::{Batch, Ticket};
use crate::store::command::Command;
use crate::store::error::Error as StoreError;
use crate::store::fanout::{self, Job, Kind, Progress, Queue, TakenOver, Task};
use crate::store::{post, relation, timeline};

/// Minimum number of followers per chunk, regardless of the number of jobs that a worker holds.
const LEAST_CHUNK: usize = 25;
/// Maximum number of followers per chunk. Posts that other authors publish meanwhile wait until the chunk
/// ends.
const CHUNK: usize = 1_000;
/// Maximum number of followers per round for an author with several jobs. Limits how long an author's series
/// of posts delays other authors.
const AUTHOR_SHARE: usize = 100;

/// The jobs that advance in a round.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Due {
    /// Jobs of authors with a single job in the lane.
    Single,
    /// Jobs of authors with several jobs in the lane.
    Crowded,
    /// All jobs in the lane.
    All,
}

/// The jobs of one kind that a worker holds.
pub(super) struct Lane {
    queue: Queue,
    /// Maximum number of jobs held at once.
    room: usize,
    jobs: Vec<Active>,
    /// True if the lane takes no further jobs until these jobs finish or make progress.
    is_closed: bool,
}

/// A job held by a worker.
struct Active {
    id: String,
    task: Task,
    progress: Progress,
    state: State,
}

/// The next step of a job. The state changes only when a step succeeds, so that the worker retries failed
/// steps.
enum State {
    /// Read the next followers.
    Read,
    /// Push to these followers' timelines.
    Push(Page<Follow>),
    /// Record the chunk, in which the job wrote `received` timelines. `are_last` is true if no followers are
    /// left.
    Note { received: u64, are_last: bool },
    /// Remove the job from the queue.
    Finish,
    /// Release the job, which cannot currently proceed.
    Failed,
    /// Drop the job, which another worker has taken over.
    Gone,
}

impl Lane {
    /// Creates a lane that holds up to `room` jobs.
    pub(super) fn new(queue: Queue, room: usize) -> Self {
        Self { queue, room, jobs: Vec::new(), is_closed: false }
    }

    /// Returns true if the lane holds a job that must run alone.
    pub(super) fn is_closed(&self) -> bool {
        self.is_closed && !self.jobs.is_empty()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.jobs.is_empty()
    }

    /// Returns true if the lane has no room for another job.
    pub(super) fn is_full(&self) -> bool {
        self.jobs.len() >= self.room
    }

    /// Returns true if the lane holds a job that is `due`.
    pub(super) fn has(&self, due: Due) -> bool {
        let shares = Shares::of(&self.jobs, 0);
        self.jobs.iter().any(|job| shares.is_due(job, due))
    }

    /// Clears the lane. Returns the command that gives all of this worker's jobs back to the queue.
    pub(super) fn give_back(&mut self, app: &App, name: &str) -> Command<u64> {
        self.jobs.clear();
        fanout::give_back(app.keys(), self.queue, name)
    }

    /// Takes jobs and reads their progress. Returns the number of jobs taken. `beside` is the worker's other
    /// lane. A worker takes a job that must run alone only if it holds no other jobs.
    pub(super) async fn take(
        &mut self,
        app: &App,
        name: &str,
        beside: &Self,
        idle_for: Option<Duration>,
        wait: Option<Duration>,
    ) -> Result<usize, Error> {
        let mut taken = Vec::new();
        self.is_closed = self.is_closed();
        let room = if self.is_closed { 0 } else { self.room.saturating_sub(self.jobs.len()) };
        if let Some(idle_for) = idle_for.filter(|_| room > 0) {
            let held = self.jobs.iter().chain(&beside.jobs).map(|job| job.id.as_str());
            let take = fanout::take_over(app.keys(), self.queue, name, millis(idle_for), room, held);
            let TakenOver { jobs, is_suspect } = take.send("deliver: take over", app.store()).await?;
            (taken, self.is_closed) = (jobs, is_suspect);
        }
        let room = room.saturating_sub(taken.len());
        if room > 0 && !self.is_closed {
            let wait = wait.filter(|_| taken.is_empty()).map(millis);
            let take = fanout::take(app.keys(), self.queue, name, room, wait);
            taken.extend(take.send("deliver: take", app.store()).await?);
        }
        let count = taken.len();
        self.begin(app, taken).await?;
        Ok(count)
    }

    /// Reads the progress of taken jobs. If that fails, the next takeover recovers the jobs.
    async fn begin(&mut self, app: &App, jobs: Vec<Job>) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: begin");
        let mut begun = Vec::new();
        let mut unknown = Vec::new();
        for Job { id, task } in jobs {
            if let Some(task) = task {
                let progress = batch.push(fanout::progress(app.keys(), &task));
                begun.push((id, task, progress));
            } else {
                tracing::warn!(%id, "unknown kind of job; leaving it to the newer version that added it");
                unknown.push(batch.push(fanout::release(app.keys(), self.queue, &id, false)));
            }
        }
        let mut replies = batch.send(app.store()).await?;
        replies.take_all(unknown)?;
        for (id, task, progress) in begun {
            let mut job = Active { id, task, progress: Progress::default(), state: State::Read };
            match job.possible(replies.take(progress))? {
                Some(progress) => job.progress = progress.unwrap_or_default(),
                None => job.state = State::Failed,
            }
            self.jobs.push(job);
        }
        Ok(())
    }

    /// Processes a chunk of followers for each due job. Divides `budget`, the approximate total number of
    /// followers, equally among the authors. Makes three round trips, plus one if jobs begin or end.
    pub(super) async fn advance(
        &mut self,
        app: &App,
        name: &str,
        budget: usize,
        due: Due,
    ) -> Result<(), Error> {
        let shares = Shares::of(&self.jobs, budget);
        let resting: Vec<_> = self.jobs.extract_if(.., |job| !shares.is_due(job, due)).collect();
        let advanced = self.advance_all(app, name, &shares).await;
        self.jobs.extend(resting);
        advanced
    }

    async fn advance_all(&mut self, app: &App, name: &str, shares: &Shares) -> Result<(), Error> {
        self.read(app, shares).await?;
        self.push(app).await?;
        self.note(app, name, shares).await?;
        self.finish(app).await?;
        self.release(app).await?;
        self.jobs.retain(|job| !matches!(job.state, State::Gone));
        Ok(())
    }

    async fn read(&mut self, app: &App, shares: &Shares) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: followers");
        let mut reads = Vec::new();
        for job in &mut self.jobs {
            if let State::Read = job.state {
                reads.push((batch.push(job.followers(app, shares.chunk_of(job))), job));
            }
        }
        let mut replies = batch.send(app.store()).await?;
        for (ticket, job) in reads {
            job.state = job.possible(replies.take(ticket))?.map_or(State::Failed, State::Push);
        }
        Ok(())
    }

    /// Adds each job's post to the timelines of a chunk of followers, or removes it from them. Skips
    /// timelines that cannot be written.
    async fn push(&mut self, app: &App) -> Result<(), Error> {
        let existing = self.existing_timelines(app).await?;
        let mut batch = Batch::new("deliver: timelines");
        let mut push = |task: Task, owner: UserId| {
            let command = match task.kind {
                Kind::Deliver => {
                    let capacity = app.0.rules.timeline.timeline_capacity;
                    timeline::deliver(app.keys(), owner, task.post, capacity)
                }
                Kind::Remove => timeline::remove(app.keys(), owner, task.post),
            };
            (owner, batch.push(command))
        };
        let mut pushed = Vec::new();
        let mut jobs: Vec<&mut Active> = self.jobs.iter_mut().collect();
        // Push the smallest chunk first, so that it does not wait for larger chunks in this round.
        jobs.sort_by_key(|job| job.chunk());
        for job in jobs {
            if let State::Push(page) = &job.state {
                let owners = page.entries.iter().map(|follow| follow.user);
                let owners = owners.filter(|owner| existing.contains(owner));
                let tickets: Vec<_> = owners.map(|owner| push(job.task, owner)).collect();
                pushed.push((tickets, job));
            }
        }
        let mut replies = batch.send(app.store()).await?;
        for (tickets, job) in pushed {
            let mut received = 0;
            for (user, ticket) in tickets {
                match replies.take(ticket) {
                    Ok(has_received) => received += u64::from(has_received),
                    // Redis is out of memory or unresponsive: retry the whole batch.
                    Err(error @ StoreError::Unavailable(_)) => return Err(error.into()),
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(
                            error, %user, post = %job.task.post,
                            "a timeline could not be written; skipping it"
                        );
                    }
                }
            }
            job.note_pushed(received);
        }
        Ok(())
    }

    /// Returns the followers in the current chunks who have a timeline. Most users have none, and neither kind of job
    /// has anything to do for them.
    async fn existing_timelines(&self, app: &App) -> Result<HashSet<UserId>, Error> {
        let pages = self.jobs.iter().filter_map(|job| match &job.state {
            State::Push(page) => Some(&page.entries),
            _ => None,
        });
        let mut batch = Batch::new("deliver: existing timelines");
        let look = |followers: &Arc<[Follow]>| {
            let owners = followers.iter().map(|follow| follow.user).collect();
            batch.push(timeline::existing(app.keys(), owners))
        };
        let tickets = pages.map(look).collect();
        let existing = batch.send(app.store()).await?.take_all(tickets)?;
        Ok(existing.into_iter().flatten().collect())
    }

    /// Records each job's progress. Also reads the next chunk of each unfinished job, and marks the posts of
    /// finished deliveries as delivered.
    async fn note(&mut self, app: &App, name: &str, shares: &Shares) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: progress");
        let mut notes = Vec::new();
        for job in &mut self.jobs {
            let State::Note { received, are_last } = job.state else { continue };
            let Active { id, task, progress, .. } = &*job;
            let note = fanout::note_progress(app.keys(), name, id, task, progress, received);
            let note = batch.push(note);
            let then = match (are_last, task.kind) {
                (false, _) => Then::Next(batch.push(job.followers(app, shares.chunk_of(job)))),
                (true, Kind::Deliver) => {
                    Then::Mark(batch.push(post::mark_delivered(app.keys(), task.post, progress.served)))
                }
                (true, Kind::Remove) => Then::Nothing,
            };
            notes.push((note, then, job));
        }
        let mut replies = batch.send(app.store()).await?;
        for (note, then, job) in notes {
            let is_mine = job.possible(replies.take(note))?;
            job.state = match (is_mine, then) {
                (None, _) => State::Failed,
                (Some(false), Then::Next(_)) => State::Gone,
                (Some(true), Then::Next(page)) => {
                    // The job makes progress, so it need not run alone.
                    self.is_closed = false;
                    job.possible(replies.take(page))?.map_or(State::Failed, State::Push)
                }
                (Some(_), Then::Mark(mark)) => {
                    job.possible(replies.take(mark))?;
                    State::Finish
                }
                (Some(_), Then::Nothing) => State::Finish,
            };
        }
        Ok(())
    }

    async fn finish(&mut self, app: &App) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: finish");
        let is_done = |job: &&mut Active| matches!(job.state, State::Finish);
        let finish = |job: &mut Active| batch.push(fanout::finish(app.keys(), &job.id, &job.task));
        let tickets = self.jobs.iter_mut().filter(is_done).map(finish).collect();
        batch.send(app.store()).await?.take_all(tickets)?;
        self.jobs.retain(|job| !matches!(job.state, State::Finish));
        Ok(())
    }

    /// Releases jobs that cannot proceed. Workers retry them later, and set them aside after too many
    /// failures.
    async fn release(&mut self, app: &App) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: release");
        let has_failed = |job: &&Active| matches!(job.state, State::Failed);
        let let_go = |job: &Active| batch.push(fanout::release(app.keys(), self.queue, &job.id, true));
        let tickets = self.jobs.iter().filter(has_failed).map(let_go).collect();
        batch.send(app.store()).await?.take_all(tickets)?;
        self.jobs.retain(|job| !matches!(job.state, State::Failed));
        Ok(())
    }
}

/// The division of a round's followers among authors and their jobs.
struct Shares {
    of_each_author: usize,
    /// Number of jobs in the lane, by author.
    jobs: HashMap<UserId, usize>,
}

impl Shares {
    fn of(jobs: &[Active], budget: usize) -> Self {
        let mut counts = HashMap::new();
        for job in jobs {
            *counts.entry(job.task.author).or_default() += 1;
        }
        Self { of_each_author: budget / counts.len().max(1), jobs: counts }
    }

    fn is_due(&self, job: &Active, due: Due) -> bool {
        match due {
            Due::Single => self.jobs_of(job) == 1,
            Due::Crowded => self.jobs_of(job) > 1,
            Due::All => true,
        }
    }

    fn jobs_of(&self, job: &Active) -> usize {
        self.jobs.get(&job.task.author).copied().unwrap_or_default()
    }

    fn chunk_of(&self, job: &Active) -> usize {
        match self.jobs_of(job) {
            0 | 1 => self.of_each_author.clamp(LEAST_CHUNK, CHUNK),
            jobs => (self.of_each_author.min(AUTHOR_SHARE) / jobs).max(LEAST_CHUNK),
        }
    }
}

/// The command sent together with a progress record.
enum Then {
    /// The command that reads the next followers.
    Next(Ticket<Page<Follow>>),
    /// The command that marks the post as delivered to all followers.
    Mark(Ticket<bool>),
    Nothing,
}

impl Active {
    /// Returns the command that reads the next followers, oldest follow first. The list is newest first, so
    /// these followers precede the cursor.
    fn followers(&self, app: &App, size: usize) -> Command<Page<Follow>> {
        let window = Window { direction: Direction::Backward, size, from: self.progress.cursor };
        relation::page(app.keys(), self.task.author, Side::Followers, &window)
    }

    /// Returns the number of followers in the current chunk.
    fn chunk(&self) -> usize {
        match &self.state {
            State::Push(page) => page.entries.len(),
            _ => 0,
        }
    }

    /// Returns the reply, or `None` if this job cannot proceed. Fails if the store is unavailable. In that
    /// case, the worker retries the step, and the attempt does not count as a failure.
    fn possible<T>(&self, answer: Result<T, StoreError>) -> Result<Option<T>, Error> {
        match answer {
            Ok(answer) => Ok(Some(answer)),
            Err(error @ StoreError::Unavailable(_)) => Err(error.into()),
            Err(error) => {
                let Task { post, author, .. } = self.task;
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, %post, %author, "the delivery job of a post cannot proceed; retrying later");
                Ok(None)
            }
        }
    }

    /// Advances the cursor past the current chunk, in which the job wrote `received` timelines.
    fn note_pushed(&mut self, received: u64) {
        let State::Push(page) = &self.state else { return };
        self.progress.served += page.entries.len() as u64;
        if let Some(newest) = page.entries.first() {
            self.progress.cursor = Some(Position::from(*newest));
        }
        self.state = State::Note { received, are_last: !page.has_previous };
    }
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
