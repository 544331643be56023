//! A job held by a worker: its next step, and the followers whose timelines could not be reached.
//!
//! In a cluster, some followers' timelines may be unreachable while others are not. The job proceeds with the others,
//! and retries those left over before it ends. Its recorded progress stays before the first of them, so that a worker
//! that takes the job over retries them too.

use std::time::Duration;

use tokio::time::Instant;

use crate::app::App;
use crate::model::id::UserId;
use crate::model::page::{Direction, Page, Position, Window};
use crate::model::relation::{Follow, Side};
use crate::store::command::Command;
use crate::store::error::Error as StoreError;
use crate::store::fanout::{Progress, Task};
use crate::store::relation;

/// Number of followers left over at which a job reads no further followers.
const MOST_LEFT_OVER: usize = 10_000;
/// Maximum number of followers left over that a job retries per round.
const MOST_RETRIED: usize = 500;
/// Pause before a retry of what was unavailable. In the meantime, other jobs advance.
const PAUSE: Duration = Duration::from_secs(1);

/// A job held by a worker.
pub(super) struct Active {
    pub(super) id: String,
    pub(super) task: Task,
    pub(super) state: State,
    /// Progress through the followers.
    progress: Progress,
    /// Progress up to the first follower left over.
    recorded: Progress,
    /// Followers before the cursor whose timelines could not be reached.
    left_over: Vec<UserId>,
    /// True if the job can do nothing before its next retry.
    pub(super) is_held_back: bool,
    /// Time of the job's next retry of what was unavailable.
    retries_at: Instant,
    /// The cause, if something was unavailable in the job's last attempt.
    unavailable: Option<StoreError>,
}

/// The next step of a job. The state changes only when a step succeeds, so that the worker retries failed
/// steps.
pub(super) enum State {
    /// Read the next followers.
    Read,
    /// Push to these followers' timelines.
    Push(Page<Follow>),
    /// Record the progress, after the job wrote `received` timelines. `are_last` is true if no followers are
    /// left to read.
    Note { received: u64, are_last: bool },
    /// Remove the job from the queue.
    Finish,
    /// Release the job, which cannot currently proceed.
    Failed,
    /// Drop the job, which another worker has taken over.
    Gone,
}

impl Active {
    pub(super) fn new(id: String, task: Task) -> Self {
        Self {
            id,
            task,
            state: State::Read,
            progress: Progress::default(),
            recorded: Progress::default(),
            left_over: Vec::new(),
            is_held_back: false,
            retries_at: Instant::now(),
            unavailable: None,
        }
    }

    /// Continues from recorded progress.
    pub(super) fn resume(&mut self, progress: Progress) {
        (self.progress, self.recorded) = (progress, progress);
    }

    /// Returns true if the job retries what was unavailable in a round that begins `now`.
    pub(super) fn retries(&self, now: Instant) -> bool {
        self.retries_at <= now
    }

    /// Returns how long the job is held back.
    pub(super) fn rest(&self, now: Instant) -> Duration {
        if self.is_held_back { self.retries_at.saturating_duration_since(now) } else { Duration::ZERO }
    }

    /// Begins a round.
    pub(super) fn begin_round(&mut self, now: Instant) {
        self.is_held_back = false;
        if self.retries(now) {
            self.unavailable = None;
        }
    }

    /// Ends a round that began at this time. Schedules the next retry if something was unavailable.
    pub(super) fn end_round(&mut self, began: Instant) {
        if self.unavailable.is_some() && self.retries(began) {
            self.retries_at = Instant::now() + PAUSE;
        }
    }

    /// Returns why something was unavailable in the job's last attempt; `None` if nothing was.
    pub(super) fn unavailable(&self) -> Option<&StoreError> {
        self.unavailable.as_ref()
    }

    /// Returns the command that reads the next followers, oldest follow first. The list is newest first, so
    /// these followers precede the cursor.
    pub(super) fn followers(&self, app: &App, size: usize) -> Command<Page<Follow>> {
        let window = Window { direction: Direction::Backward, size, from: self.progress.cursor };
        relation::page(app.keys(), self.task.author, Side::Followers, &window)
    }

    /// Returns the number of followers in the current chunk.
    pub(super) fn chunk(&self) -> usize {
        match &self.state {
            State::Push(page) => page.entries.len(),
            _ => 0,
        }
    }

    /// Returns the progress to record, which ends before the first follower left over.
    pub(super) fn recorded(&self) -> &Progress {
        &self.recorded
    }

    /// Returns true if the job can do nothing but retry the followers left over. `are_last` is true if no others are
    /// left to read.
    pub(super) fn waits_for_left_over(&self, are_last: bool) -> bool {
        !self.left_over.is_empty() && (are_last || self.left_over.len() >= MOST_LEFT_OVER)
    }

    /// Returns how many of the followers left over a round that begins `now` retries.
    fn retried(&self, now: Instant) -> usize {
        if self.retries(now) { self.left_over.len().min(MOST_RETRIED) } else { 0 }
    }

    /// Returns the followers to push to: the current chunk, and those left over if the job retries.
    pub(super) fn owners(&self, now: Instant) -> Vec<UserId> {
        let State::Push(page) = &self.state else { return Vec::new() };
        let left_over = &self.left_over[..self.retried(now)];
        left_over.iter().copied().chain(page.entries.iter().map(|follow| follow.user)).collect()
    }

    /// Advances the cursor past the current chunk, in which the job wrote `received` timelines. Keeps the followers
    /// whose timelines were unreachable, with the cause.
    pub(super) fn note_pushed(
        &mut self,
        now: Instant,
        received: u64,
        unreachable: &[UserId],
        cause: Option<StoreError>,
    ) {
        let State::Push(page) = &self.state else { return };
        self.progress.served += page.entries.len() as u64;
        if let Some(newest) = page.entries.first() {
            self.progress.cursor = Some(Position::from(*newest));
        }
        self.left_over.drain(..self.retried(now));
        self.left_over.extend(unreachable);
        self.unavailable = cause.or_else(|| self.unavailable.take());
        if self.left_over.is_empty() {
            self.recorded = self.progress;
        }
        self.state = State::Note { received, are_last: !page.has_previous };
    }

    /// Waits for the next retry of the followers left over. Until then, the job only records its progress, so that
    /// no other worker takes it over.
    pub(super) fn wait_for_left_over(&mut self, are_last: bool) {
        self.is_held_back = true;
        self.state = State::Push(Page { entries: [].into(), has_previous: !are_last, has_next: false });
    }

    /// Pauses the job before its next retry.
    pub(super) fn hold_back(&mut self) {
        self.is_held_back = true;
        self.retries_at = Instant::now() + PAUSE;
    }

    /// Returns the reply, or `None` if this job cannot proceed: at present, if the store is unavailable, so that the
    /// attempt does not count as a failure.
    pub(super) fn possible<T>(&mut self, reply: Result<T, StoreError>) -> Option<T> {
        match reply {
            Ok(reply) => Some(reply),
            Err(error) if error.is_unavailable() => {
                self.unavailable = Some(error);
                self.is_held_back = true;
                None
            }
            Err(error) => {
                let Task { post, author, .. } = self.task;
                let error = &error as &dyn std::error::Error;
                tracing::error!(error, %post, %author, "the delivery job of a post cannot proceed; retrying later");
                self.state = State::Failed;
                None
            }
        }
    }
}
