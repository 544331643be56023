//! Jobs of accounts: work that a call has left unfinished, or that is due later.
//!
//! Every server has a worker, which claims due jobs. A worker that stops leaves its job to another after a minute.

use std::time::Duration;

use futures::{StreamExt as _, stream};

use crate::app::App;
use crate::app::account::Walk;
use crate::app::deadline::{Deadline, REPAIRED_AFTER, WRITER_LIVES};
use crate::app::error::{Broken, Error};
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::store::account::{self, Job};

/// Age of a job after which a worker takes it over: some seconds after the call that has added it writes no more.
const TAKEN_OVER: Duration = WRITER_LIVES.saturating_add(REPAIRED_AFTER);
/// Interval between looks for due jobs.
const ROUND: Duration = Duration::from_secs(2);
/// Time after which a claimed job is due again, unless its worker has claimed it anew.
const CLAIMED: Duration = Duration::from_mins(1);
/// Delay before a job is repeated that had to wait for the archive.
const REPEATED: Duration = Duration::from_secs(2);
/// Maximum number of jobs read at a time.
const PAGE: usize = 100;
/// Maximum number of jobs that a worker does concurrently.
const AT_ONCE: usize = 4;

impl App {
    /// Adds a job, which the workers take over unless this call finishes it within some seconds. The call must check
    /// the deadline before it writes to the record: if it wrote later than a worker had followed the record, nothing
    /// would follow this change.
    pub(super) async fn begin_job(&self, user: UserId) -> Result<(Job, Deadline<'_>), Error> {
        let (jobs, deadline) = self.begin_jobs(&[user]).await?;
        Ok((jobs[0], deadline))
    }

    /// Adds a job of each of these users, like [`App::begin_job`]. Makes one round trip.
    pub(in crate::app) async fn begin_jobs(
        &self,
        users: &[UserId],
    ) -> Result<(Vec<Job>, Deadline<'_>), Error> {
        let deadline = self.deadline();
        let jobs: Vec<Job> = users.iter().map(|&user| Job { user, token: self.rng().nonce() }).collect();
        self.schedule_jobs(&jobs, deadline.began().plus(TAKEN_OVER)).await?;
        Ok((jobs, deadline))
    }

    /// Makes jobs due at this time. Makes one round trip.
    pub(in crate::app) async fn schedule_jobs(&self, jobs: &[Job], due: Timestamp) -> Result<(), Error> {
        let commands = jobs.iter().map(|job| account::add_job(self.keys(), *job, due));
        self.send_all("account: new jobs", commands).await?;
        Ok(())
    }

    /// Makes a job due at this time.
    pub(super) async fn schedule_job(&self, job: Job, due: Timestamp) -> Result<(), Error> {
        account::add_job(self.keys(), job, due).send("account: job", self.store()).await?;
        Ok(())
    }

    /// Leaves a job to the workers.
    pub(super) async fn hand_over_job(&self, job: Job) -> Result<(), Error> {
        self.schedule_job(job, self.now()).await
    }

    pub(super) async fn end_job(&self, job: Job) -> Result<(), Error> {
        self.end_jobs(vec![job]).await
    }

    /// Removes jobs that are done. Makes one round trip; none without jobs.
    pub(super) async fn end_jobs(&self, jobs: Vec<Job>) -> Result<(), Error> {
        if !jobs.is_empty() {
            account::remove_jobs(self.keys(), &jobs).send("account: job done", self.store()).await?;
        }
        Ok(())
    }

    /// Returns the jobs of a user, those that are not due yet included. Takes time in proportion to all jobs, some at a
    /// time.
    pub(in crate::app) async fn jobs_of(&self, user: UserId) -> Result<Vec<Job>, Error> {
        let (mut jobs, mut cursor) = (Vec::new(), 0);
        loop {
            let scan = account::scan_jobs(self.keys(), user, cursor);
            let (next, found) = scan.send("account: find jobs", self.store()).await?;
            jobs.extend(found);
            cursor = next;
            if cursor == 0 {
                return Ok(jobs);
            }
        }
    }

    /// Works on jobs of accounts until dropped.
    pub async fn keep_working_on_accounts(&self) {
        let mut rounds = tokio::time::interval(ROUND);
        rounds.set_missed_tick_behavior(tokio::time::MissedTickBehavior::Delay);
        loop {
            rounds.tick().await;
            if let Err(error) = self.work_on_accounts().await {
                let error = &error as &dyn std::error::Error;
                tracing::warn!(error, "jobs of accounts could not be done; retrying");
            }
        }
    }

    /// Does the jobs of accounts that are due, some of them concurrently, so that a large account does not hold up the
    /// others. Returns the number of jobs done. A job that fails does not block others.
    pub async fn work_on_accounts(&self) -> Result<usize, Error> {
        let due = account::due_jobs(self.keys(), self.now(), PAGE);
        let due = due.send("account: jobs", self.store()).await?;
        let work = |(job, due)| async move { (job, Box::pin(self.work_on(job, due)).await) };
        let mut worked = stream::iter(due).map(work).buffer_unordered(AT_ONCE);
        let mut done = 0;
        while let Some((job, worked)) = worked.next().await {
            match worked {
                Ok(has_finished) => done += usize::from(has_finished),
                Err(error) if self.gives_up_after(&error) => return Err(error),
                Err(error) => {
                    let error = &error as &dyn std::error::Error;
                    tracing::error!(error, user = %job.user, "a job of an account failed; retrying later");
                }
            }
        }
        Ok(done)
    }

    /// Does a job that was due at `due`. Returns false if another process has claimed it, or if it must be repeated
    /// later.
    async fn work_on(&self, job: Job, due: Timestamp) -> Result<bool, Error> {
        let mut claim = Claim { job, due };
        if !self.try_to_keep(&mut claim).await? {
            return Ok(false);
        }
        let erase = account::begin_erasure(self.keys(), job.user, self.now());
        if let Some(username) = erase.send("erase: begin", self.store()).await? {
            if self.erase(&mut claim, &username).await? {
                return Ok(true);
            }
            self.schedule_job(job, self.now().plus(REPEATED)).await?;
            return Ok(false);
        }
        let mut walk = Walk::default();
        while !self.make_agree(job.user, &mut walk, 1).await? {
            self.keep(&mut claim).await?;
        }
        self.end_job(job).await?;
        Ok(true)
    }

    /// Renews a claim. Fails if another process has claimed the job meanwhile, because this one was too slow.
    pub(super) async fn keep(&self, claim: &mut Claim) -> Result<(), Error> {
        if self.try_to_keep(claim).await? { Ok(()) } else { Err(Broken::Late.into()) }
    }

    /// Claims a job, or renews the claim. Returns false if another process has claimed it.
    async fn try_to_keep(&self, claim: &mut Claim) -> Result<bool, Error> {
        let until = self.now().plus(CLAIMED);
        let renew = account::claim_job(self.keys(), claim.job, claim.due, until);
        let is_kept = renew.send("account: claim", self.store()).await?;
        claim.due = until;
        Ok(is_kept)
    }
}

/// A claim of a job, which expires unless it is renewed.
pub(super) struct Claim {
    pub(super) job: Job,
    /// Time until which the job is claimed.
    due: Timestamp,
}
