//! Advances a worker's jobs of one kind together.

use std::collections::{HashMap, HashSet};
use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::app::delivery::active::{Active, State};
use crate::app::error::Error;
use crate::model::id::{PostId, UserId};
use crate::model::page::Page;
use crate::model::relation::Follow;
use crate::store::batch::{Batch, Ticket};
use crate::store::command::Command;
use crate::store::fanout::{self, Job, Kind, Queue, TakenOver, Task};
use crate::store::{post, timeline};

/// Minimum number of followers per chunk, regardless of the number of jobs that a worker holds.
const LEAST_CHUNK: usize = 25;
/// Maximum number of followers per chunk. Posts that other authors publish meanwhile wait until the chunk
/// ends.
const CHUNK: usize = 1_000;
/// Maximum number of followers per round for an author with several jobs. Limits how long an author's series
/// of posts delays other authors.
const AUTHOR_SHARE: usize = 100;
/// Maximum number of jobs, as a multiple of the room, if some wait for data that is unavailable.
const WAITING_SHARE: usize = 4;

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
        self.room_left() == 0
    }

    /// Returns how many further jobs the lane has room for. Those that wait for unavailable data take little of it.
    fn room_left(&self) -> usize {
        let active = self.jobs.iter().filter(|job| !job.is_held_back).count();
        let all = (self.room * WAITING_SHARE).saturating_sub(self.jobs.len());
        self.room.saturating_sub(active).min(all)
    }

    /// Returns true if the lane holds a job that is `due`.
    pub(super) fn has(&self, due: Due) -> bool {
        let shares = Shares::of(&self.jobs, 0);
        let now = Instant::now();
        self.jobs.iter().any(|job| job.rest(now).is_zero() && shares.is_due(job, due))
    }

    /// Returns the time until one of the jobs may advance; `None` if there is no job.
    pub(super) fn rest(&self) -> Option<Duration> {
        let now = Instant::now();
        self.jobs.iter().map(|job| job.rest(now)).min()
    }

    /// Fails if a job could not proceed in its last attempt, because something was unavailable.
    pub(super) fn check_available(&self) -> Result<(), Error> {
        let unavailable = self.jobs.iter().find_map(Active::unavailable);
        unavailable.map_or(Ok(()), |error| Err(error.clone().into()))
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
        let room = if self.is_closed { 0 } else { self.room_left() };
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
            let mut job = Active::new(id, task);
            if let Some(progress) = job.possible(replies.take(progress)) {
                job.resume(progress.unwrap_or_default());
            }
            if let Some(error) = job.unavailable() {
                return Err(error.clone().into());
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
        let now = Instant::now();
        let rests = |job: &mut Active| !job.rest(now).is_zero() || !shares.is_due(job, due);
        let resting: Vec<_> = self.jobs.extract_if(.., rests).collect();
        let advanced = self.advance_all(app, name, &shares, now).await;
        self.end_round(now);
        self.jobs.extend(resting);
        advanced
    }

    async fn advance_all(
        &mut self,
        app: &App,
        name: &str,
        shares: &Shares,
        now: Instant,
    ) -> Result<(), Error> {
        self.jobs.iter_mut().for_each(|job| job.begin_round(now));
        self.read(app, shares).await?;
        self.push(app, now).await?;
        self.note(app, name, shares).await?;
        self.finish(app).await?;
        self.release(app).await?;
        self.jobs.retain(|job| !matches!(job.state, State::Gone));
        Ok(())
    }

    /// Ends a round that began at this time, and reports what was unavailable when it was retried.
    fn end_round(&mut self, began: Instant) {
        let mut retried = self.jobs.iter().filter(|job| job.retries(began));
        if let Some(error) = retried.find_map(Active::unavailable) {
            let error = error as &dyn std::error::Error;
            tracing::warn!(error, "some timelines are unavailable; delivering to others, and retrying");
        }
        self.jobs.iter_mut().for_each(|job| job.end_round(began));
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
            match job.possible(replies.take(ticket)) {
                Some(page) => job.state = State::Push(page),
                // Those left over are reached, and the progress is recorded, even so.
                None if job.is_held_back => job.wait_for_left_over(false),
                None => {}
            }
        }
        Ok(())
    }

    /// Adds each job's post to the timelines of a chunk of followers, or removes it from them; if the job retries, also
    /// those of the followers left over. Skips timelines that cannot be written.
    async fn push(&mut self, app: &App, now: Instant) -> Result<(), Error> {
        // Push the smallest chunk first, so that it does not wait for larger chunks in this round.
        self.jobs.sort_by_key(Active::chunk);
        let owners: Vec<_> = self.jobs.iter().map(|job| job.owners(now)).collect();
        let existing = existing_timelines(app, &owners).await?;
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
        for (job, owners) in self.jobs.iter_mut().zip(owners) {
            let owners = owners.into_iter().filter(|owner| existing.contains(owner));
            let tickets: Vec<_> = owners.map(|owner| push(job.task, owner)).collect();
            pushed.push((job, tickets));
        }
        let mut replies = batch.send(app.store()).await?;
        for (job, tickets) in pushed {
            let (mut received, mut unreachable, mut cause) = (0, Vec::new(), None);
            for (user, ticket) in tickets {
                match replies.take(ticket) {
                    Ok(has_received) => received += u64::from(has_received),
                    Err(error) if error.is_unavailable() => {
                        cause = Some(error);
                        unreachable.push(user);
                    }
                    Err(error) => {
                        let error = &error as &dyn std::error::Error;
                        tracing::error!(
                            error, %user, post = %job.task.post,
                            "a timeline could not be written; skipping it"
                        );
                    }
                }
            }
            job.note_pushed(now, received, &unreachable, cause);
        }
        Ok(())
    }

    /// Records each job's progress. Also reads the next chunk of each unfinished job, and marks the posts of
    /// finished deliveries as delivered.
    async fn note(&mut self, app: &App, name: &str, shares: &Shares) -> Result<(), Error> {
        let mut batch = Batch::new("deliver: progress");
        let mut notes = Vec::new();
        for job in &mut self.jobs {
            let State::Note { received, are_last } = job.state else { continue };
            let note = fanout::note_progress(app.keys(), name, &job.id, &job.task, job.recorded(), received);
            let note = batch.push(note);
            let then = match (are_last, job.task.kind) {
                _ if job.waits_for_left_over(are_last) => Then::Wait { are_last },
                (false, _) => Then::Next(batch.push(job.followers(app, shares.chunk_of(job)))),
                (true, Kind::Deliver) => {
                    let mark = post::mark_delivered(app.keys(), job.task.post, job.recorded().served);
                    Then::Mark(batch.push(mark))
                }
                (true, Kind::Remove) => Then::Nothing,
            };
            notes.push((note, then, job));
        }
        let mut replies = batch.send(app.store()).await?;
        for (note, then, job) in notes {
            let Some(is_mine) = job.possible(replies.take(note)) else { continue };
            match then {
                Then::Next(_) | Then::Wait { .. } if !is_mine => job.state = State::Gone,
                Then::Next(page) => {
                    // The job makes progress, so it need not run alone.
                    self.is_closed = false;
                    job.state = State::Read;
                    if let Some(page) = job.possible(replies.take(page)) {
                        job.state = State::Push(page);
                    }
                }
                Then::Wait { are_last } => {
                    self.is_closed = false;
                    job.wait_for_left_over(are_last);
                }
                Then::Mark(mark) => {
                    job.state = State::Note { received: 0, are_last: true };
                    if job.possible(replies.take(mark)).is_some() {
                        job.state = State::Finish;
                    }
                }
                Then::Nothing => job.state = State::Finish,
            }
        }
        Ok(())
    }

    /// Ends jobs. First deletes the reposts of deleted posts, a portion in each round. A job whose post has further
    /// ones stays.
    async fn finish(&mut self, app: &App) -> Result<(), Error> {
        self.delete_reposts(app).await?;
        let is_done = |job: &&mut Active| matches!(job.state, State::Finish);
        let finish = |job: &mut Active| fanout::finish(app.keys(), &job.id, &job.task);
        app.send_all("deliver: finish", self.jobs.iter_mut().filter(is_done).map(finish)).await?;
        self.jobs.retain(|job| !matches!(job.state, State::Finish));
        Ok(())
    }

    async fn delete_reposts(&mut self, app: &App) -> Result<(), Error> {
        let is_swept =
            |job: &&mut Active| matches!(job.state, State::Finish) && job.task.kind == Kind::Remove;
        let mut swept: Vec<&mut Active> = self.jobs.iter_mut().filter(is_swept).collect();
        let posts: Vec<PostId> = swept.iter().map(|job| job.task.post).collect();
        if posts.is_empty() {
            return Ok(());
        }
        for (job, reposts) in swept.iter_mut().zip(app.reposts_left(&posts).await?) {
            if reposts.is_empty() {
                continue;
            }
            // The next round records the progress again, so that no other worker takes the job over.
            job.state = State::Note { received: 0, are_last: true };
            if let Err(error) = app.delete_reposts(job.task.post, &reposts).await {
                let error = &error as &dyn std::error::Error;
                let post = job.task.post;
                tracing::warn!(error, %post, "reposts of a deleted post could not be deleted; retrying");
                job.hold_back();
            }
        }
        Ok(())
    }

    /// Releases jobs that cannot proceed. Workers retry them later, and set them aside after too many
    /// failures.
    async fn release(&mut self, app: &App) -> Result<(), Error> {
        let has_failed = |job: &&Active| matches!(job.state, State::Failed);
        let let_go = |job: &Active| fanout::release(app.keys(), self.queue, &job.id, true);
        app.send_all("deliver: release", self.jobs.iter().filter(has_failed).map(let_go)).await?;
        self.jobs.retain(|job| !matches!(job.state, State::Failed));
        Ok(())
    }
}

/// Returns the owners whose timelines exist. Most users have none, and neither kind of job has anything to do for them.
async fn existing_timelines(app: &App, owners: &[Vec<UserId>]) -> Result<HashSet<UserId>, Error> {
    let look = |owners: &Vec<UserId>| timeline::existing(app.keys(), owners.clone());
    let commands = owners.iter().filter(|owners| !owners.is_empty()).map(look);
    let existing = app.send_all("deliver: existing timelines", commands).await?;
    Ok(existing.into_iter().flatten().collect())
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
    /// None: the job waits for a retry of the followers left over.
    Wait {
        are_last: bool,
    },
    /// The command that marks the post as delivered to all followers.
    Mark(Ticket<bool>),
    Nothing,
}

fn millis(duration: Duration) -> u64 {
    u64::try_from(duration.as_millis()).unwrap_or(u64::MAX)
}
