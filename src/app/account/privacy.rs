//! Accounts that become private or public.
//!
//! The user's record is the truth, and in force at once: what a viewer sees is decided when it is read. What follows
//! are the entries of the user's posts in the lists of the posts that they refer to: they are limited while the account
//! is private, and listed while it is public. As when an account becomes inactive, a call adds a job of its own,
//! changes the record, and then moves the entries, or leaves the rest to the workers.
//!
//! Not here: the requests to follow a user whose account becomes public (`app::edge`).

use std::time::Duration;

use crate::app::App;
use crate::app::account::Walk;
use crate::app::deadline::Deadline;
use crate::app::error::Error;
use crate::app::throttle::throttled;
use crate::model::id::UserId;
use crate::model::page::Direction;
use crate::model::user::{ProfileChange, UserFields};
use crate::store::batch::Batch;
use crate::store::bucket::{self, Limit};
use crate::store::post_list::{self, Nearest};
use crate::store::{Feature, user};

/// How often an account may become private or public: each time, the entries of all of its posts move.
const CHANGES: Limit = Limit { capacity: 10, period: Duration::from_hours(24) };

impl App {
    /// Writes a change of a profile that makes the account private or public, or leaves it so. Makes three round trips
    /// if it stays as it is; otherwise seven, and some more for each 500 posts; the workers move the entries of the
    /// posts beyond the first 10,000. An account that becomes or stays public also accepts pending requests.
    pub(in crate::app) async fn write_privacy(
        &self,
        user: UserId,
        is_private: bool,
        change: ProfileChange,
    ) -> Result<(), Error> {
        self.enter(Feature::Boundaries).await?;
        self.enter(Feature::EntryKinds).await?;
        let record = user::read(self.keys(), user, UserFields::PRIVATE);
        let record = record.send("privacy: read", self.store()).await?;
        if record.is_some_and(|record| record.is_private == Some(is_private)) {
            // What another call writes meanwhile stays, as if it had come later.
            let change = ProfileChange { is_private: None, ..change };
            let deadline = self.deadline();
            return self.write_profile_as(user, is_private, &change, &deadline).await;
        }
        let token = bucket::take(&self.keys().privacy_of(user), CHANGES, 1, self.now());
        if let Some(wait) = token.send("privacy: limit", self.store()).await?.wait {
            return Err(throttled(wait, "You have made your account private or public too often."));
        }
        let (job, deadline) = self.begin_job(user).await?;
        deadline.check()?;
        self.write_profile_as(user, is_private, &change, &deadline).await?;
        self.follow_account(job, Walk::of_posts()).await
    }

    async fn write_profile_as(
        &self,
        user: UserId,
        is_private: bool,
        change: &ProfileChange,
        deadline: &Deadline<'_>,
    ) -> Result<(), Error> {
        if is_private {
            self.write_profile(user, change).await
        } else {
            self.make_public(user, change, deadline).await
        }
    }

    /// Makes the accounts of users private. Their followers stay. Leaves the entries of their posts to the workers.
    /// Makes four round trips for any number of users, plus one or two for the first of the process; none for no users.
    pub async fn import_private(&self, users: &[UserId]) -> Result<(), Error> {
        if users.is_empty() {
            return Ok(());
        }
        self.enter(Feature::Boundaries).await?;
        self.enter(Feature::EntryKinds).await?;
        let (jobs, deadline) = self.begin_jobs(users).await?;
        deadline.check()?;
        let change = ProfileChange { is_private: Some(true), ..ProfileChange::default() };
        let mut batch = Batch::new("import: private");
        let write = |&user: &UserId| Some(batch.push(user::change_profile(self.keys(), user, &change)?));
        let tickets = users.iter().filter_map(write).collect();
        let sent = batch.send(self.store()).await;
        for &user in users {
            // Redis may have executed a write that failed.
            self.store().forget_user(user);
        }
        sent?.take_all(tickets)?;
        // Most accounts that are imported have no posts yet.
        let read = |&user: &UserId| post_list::nearest(self.keys(), user, Direction::Forward);
        let nearest = self.send_all("import: posts", users.iter().map(read)).await?;
        let (done, open): (Vec<_>, Vec<_>) =
            jobs.into_iter().zip(nearest).partition(|(_, nearest)| Nearest::has_no_posts(nearest));
        self.end_jobs(done.into_iter().map(|(job, _)| job).collect()).await?;
        self.schedule_jobs(&open.into_iter().map(|(job, _)| job).collect::<Vec<_>>(), self.now()).await
    }
}
