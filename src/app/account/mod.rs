//! Accounts that are suspended or deleted, and what follows from that: no one sees an inactive account, its posts and
//! its follows, until it is active again.
//!
#![doc = include_str!("README.md")]

mod deletion;
mod erase;
pub mod export;
mod job;
mod privacy;
pub(in crate::app) mod read;

use std::sync::Arc;

use futures::FutureExt as _;

use crate::app::App;
use crate::app::archive::Listed;
use crate::app::edge::Edge;
use crate::app::error::{Broken, Error};
use crate::app::moderation::read::moderates;
use crate::app::post::like::LikeWalk;
use crate::app::post::read::{PostPage, PostRecords};
use crate::app::read::{Load as _, Shared};
use crate::model::account::{Account, Inactivity};
use crate::model::clock::{Period, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::page::{Direction, Position, Window};
use crate::model::relation::Side;
use crate::model::user::Username;
use crate::store::account::{self, Job};
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::name::{self, Holder};
use crate::store::{self, Feature};
use crate::store::{follow, recovery, relation};

/// Number of follows, or of posts, that are written together.
const TOGETHER: usize = 500;
/// Maximum number of portions of follows and posts that a call writes before it leaves the rest to the workers.
const PORTIONS: usize = 20;

/// The progress of making follows and posts agree with an account.
pub(in crate::app) struct Walk {
    /// The users whose follows by the user are withheld and have not been visited; `None` before the first portion.
    /// These are in no list, and must be put back if the others' accounts have become active meanwhile.
    withheld: Option<Vec<UserId>>,
    /// The lists that are left, the current one last.
    lists: Vec<Side>,
    /// The last entry of the current list that was visited.
    last: Option<Position>,
    /// The next page of posts, newest first; `None` after the last one.
    posts: Option<Window<PostId>>,
    /// The likes that are left.
    likes: LikeWalk,
}

impl Walk {
    /// The first page of posts.
    const POSTS: Window<PostId> = Window { direction: Direction::Forward, size: TOGETHER, from: None };

    /// Returns a walk of the posts alone.
    fn of_posts() -> Self {
        let (posts, likes) = (Some(Self::POSTS), LikeWalk::none());
        Self { withheld: Some(Vec::new()), lists: Vec::new(), last: None, posts, likes }
    }
}

impl Default for Walk {
    fn default() -> Self {
        let lists = vec![Side::Requests, Side::Followers, Side::Requesting, Side::Following];
        let (posts, likes) = (Some(Self::POSTS), LikeWalk::default());
        Self { withheld: None, lists, last: None, posts, likes }
    }
}

impl App {
    /// Returns an account, whether or not it is active; `None` if there is no such user. Makes one round trip.
    pub async fn account(&self, user: UserId) -> Result<Option<Account>, Error> {
        Ok(account::read(self.keys(), user).send("account", self.store()).await?)
    }

    /// Makes an account inactive. Returns false if there is no such user. Makes eight round trips, plus some for each
    /// 500 follows; the workers change the follows beyond the first 10,000.
    pub(in crate::app) async fn deactivate(
        &self,
        user: UserId,
        inactivity: Inactivity,
        at: Timestamp,
    ) -> Result<bool, Error> {
        self.enter(Feature::Inactivity).await?;
        self.enter(Feature::EntryKinds).await?;
        let (job, deadline) = self.begin_job(user).await?;
        deadline.check()?;
        let deactivate = account::deactivate(self.keys(), user, inactivity, at);
        let username = self.write_account(user, deactivate).await?;
        self.store().persist().await;
        if username.is_none() {
            self.end_job(job).await?;
            return Ok(false);
        }
        self.follow_account(job, Walk::default()).await?;
        Ok(true)
    }

    /// Removes a reason for which an account is inactive. Returns false if the account is not inactive for this reason,
    /// or is being erased. Makes as many round trips as [`App::deactivate`].
    pub(in crate::app) async fn reactivate(
        &self,
        user: UserId,
        inactivity: Inactivity,
    ) -> Result<bool, Error> {
        self.enter(Feature::EntryKinds).await?;
        let (job, deadline) = self.begin_job(user).await?;
        deadline.check()?;
        let reactivate = account::reactivate(self.keys(), user, inactivity);
        let has_changed = self.write_account(user, reactivate).await?;
        self.follow_account(job, Walk::default()).await?;
        Ok(has_changed)
    }

    /// Ends the rights of a moderator, and revokes the recovery codes that they have issued, under a job. Idempotent.
    /// Makes four round trips, plus two if there are such codes.
    pub(in crate::app) async fn end_rights(&self, user: UserId) -> Result<(), Error> {
        let (job, deadline) = self.begin_job(user).await?;
        deadline.check()?;
        account::set_moderator(self.keys(), user, false).send("moderator: end", self.store()).await?;
        let listed = recovery::listed(self.keys(), user).send("recovery: listed", self.store()).await?;
        self.revoke_recoveries(user, &listed).await?;
        self.end_job(job).await
    }

    /// Performs a write to a user's record and sessions.
    async fn write_account<T: Send + 'static>(&self, user: UserId, write: Command<T>) -> Result<T, Error> {
        let written = self.write_sessions(user, "account: record", write).await;
        self.store().forget_user(user);
        written
    }

    /// Runs steps 3 to 5 of a call, or leaves the rest to the workers: the change is in force, and an archive that is
    /// away must not hold it up.
    async fn follow_account(&self, job: Job, mut walk: Walk) -> Result<(), Error> {
        // Boxed, so that the compiler checks only once that these many futures within each other are `Send`.
        match self.make_agree(job.user, &mut walk, PORTIONS).boxed().await {
            Ok(true) => self.end_job(job).await,
            Ok(false) | Err(Error::Broken(Broken::Late)) => self.hand_over_job(job).await,
            Err(error) if error.is_about_archive() => self.hand_over_job(job).await,
            Err(error) => Err(error),
        }
    }

    /// Makes all other data agree with an account, up to this number of portions of follows and posts. Returns true if
    /// all is done.
    pub(in crate::app) async fn make_agree(
        &self,
        user: UserId,
        walk: &mut Walk,
        portions: usize,
    ) -> Result<bool, Error> {
        if walk.withheld.is_none() {
            self.make_name_agree(user).await?;
            walk.withheld = Some(self.begin_walk(user).await?);
        }
        for _ in 0..portions {
            let has_worked = self.make_follows_agree(user, walk).await?
                || self.make_posts_agree(user, walk).await?
                || self.make_likes_of_agree(user, &mut walk.likes).await?;
            if !has_worked {
                return Ok(true);
            }
        }
        Ok(walk.lists.is_empty() && walk.posts.is_none() && walk.likes.is_done())
    }

    /// Revokes the recovery codes of a user who is no moderator, and returns the users whose follows by the user are
    /// withheld. Makes one round trip, plus two if there are such codes.
    async fn begin_walk(&self, user: UserId) -> Result<Vec<UserId>, Error> {
        let mut batch = Batch::new("account: withheld");
        let account = batch.push(account::read(self.keys(), user));
        let listed = batch.push(recovery::listed(self.keys(), user));
        let withheld = batch.push(follow::withheld(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        let (account, listed) = (replies.take(account)?, replies.take(listed)?);
        if !account.as_ref().is_some_and(moderates) {
            self.revoke_recoveries(user, &listed).await?;
        }
        Ok(replies.take(withheld)?)
    }

    /// Makes the name and the set of inactive users agree with the record. Makes three round trips, plus two whenever
    /// another call changes the record concurrently.
    async fn make_name_agree(&self, user: UserId) -> Result<(), Error> {
        let mut seen = self.account(user).await?;
        while let Some(account) = seen {
            self.write_name(&account).await?;
            let again = self.account(user).await?;
            if again.as_ref().is_some_and(|again| again.is_active() == account.is_active()) {
                break;
            }
            seen = again;
        }
        Ok(())
    }

    /// Writes the name of an account and its entry in the set of inactive users.
    async fn write_name(&self, account: &Account) -> Result<(), Error> {
        let user = account.user;
        let mut batch = Batch::new("account: name");
        let (before, after) = if account.is_active() {
            ([Holder::Inactive(user); 2], Holder::Settled(user))
        } else {
            ([Holder::Settled(user), Holder::Reserved(user)], Holder::Inactive(user))
        };
        let username = Username::parse(&account.username);
        let unreadable =
            |_| store::error::Error::corrupt(format!("the name of user {user} is not a username"));
        let username = username.map_err(unreadable)?;
        let replace = |before| batch.push(name::replace(self.keys(), &username, before, after));
        let names = before.into_iter().map(replace).collect();
        let since = account.suspended_at.or(account.deletion_at);
        let listed = batch.push(match since {
            Some(since) => account::list_inactive(self.keys(), user, since),
            None => account::unlist_inactive(self.keys(), user),
        });
        let sent = batch.send(self.store()).await;
        // Redis may have executed a write that failed.
        self.store().forget_name(&username);
        let mut replies = sent?;
        replies.take_all(names)?;
        replies.take(listed)?;
        Ok(())
    }

    /// Makes a portion of the follows by and of a user agree with the user's account, under an intent each. Returns
    /// false if there are no more.
    async fn make_follows_agree(&self, user: UserId, walk: &mut Walk) -> Result<bool, Error> {
        if let Some(withheld) = walk.withheld.as_mut().filter(|withheld| !withheld.is_empty()) {
            let portion = withheld.split_off(withheld.len().saturating_sub(TOGETHER));
            let edges: Vec<Edge> =
                portion.into_iter().map(|followee| Edge { follower: user, followee }).collect();
            return self.repair_follows(edges).await.map(|()| true);
        }
        let Some(&side) = walk.lists.last() else { return Ok(false) };
        let window = Window { direction: Direction::Forward, size: TOGETHER, from: walk.last };
        let page = relation::page(self.keys(), user, side, &window);
        let page = page.send("account: follows", self.store()).await?;
        let edges: Vec<Edge> = page.entries.iter().map(|follow| Edge::of(user, side, follow.user)).collect();
        self.repair_follows(edges).await?;
        walk.last = page.entries.last().filter(|_| page.has_next).map(|follow| Position::from(*follow));
        if walk.last.is_none() {
            walk.lists.pop();
        }
        Ok(true)
    }

    /// Makes a portion of a user's likes agree with the user's account, under an intent each. Returns false if there
    /// are no more.
    async fn make_likes_of_agree(&self, user: UserId, walk: &mut LikeWalk) -> Result<bool, Error> {
        let portion = self.next_likes(user, walk, TOGETHER).await?;
        let has_some = !portion.is_empty();
        self.make_likes_agree(portion).await?;
        Ok(has_some)
    }

    /// Makes the entries of a page of a user's posts, in the lists of the posts that they refer to, agree with the
    /// user's account. Returns false if there are no more posts.
    async fn make_posts_agree(&self, user: UserId, walk: &mut Walk) -> Result<bool, Error> {
        let Some(window) = walk.posts else { return Ok(false) };
        // Before the reads, so that nothing is written long after them.
        let deadline = self.deadline();
        let page = PostPage { author: user, window, period: Period::ALL, only_public: false };
        let page = self.load(page).await?;
        let posts = PostRecords { posts: Shared(Arc::clone(&page.entries)), needs_archive: true };
        let posts = self.load(posts).await?;
        self.make_entries_agree(posts.iter().flatten().map(|found| &**found.unchecked()), &deadline).await?;
        let last = page.entries.last().filter(|_| page.has_next).map(Listed::id);
        walk.posts = last.map(|last| Window { from: Some(last), ..window });
        Ok(true)
    }
}
