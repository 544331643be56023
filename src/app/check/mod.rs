//! Checks stored data for consistency, and repairs it.
//!
//! Compares both directions of every edge and every block, the name and subject indexes with the users, the creation
//! times and visibilities of hot posts with their records, the lists of replies and quotes with the posts that refer to
//! others, and each user's archived post count with the archive. A server may be writing concurrently, so the check
//! reads suspect data again before it counts a fault. An operation with an intent is in progress, and is not a fault.

mod activity;
mod boundary;
mod cold;
mod conversion;
mod edge;
mod entry;
mod finding;
mod like;
mod name;
mod reaction;
mod referral;
mod state;
mod subject;
mod tie;

use std::collections::HashSet;

pub use self::conversion::Conversion;
pub use self::finding::Findings;
use self::finding::{Kind, findings};
use crate::app::App;
use crate::app::delivery::Backlog;
use crate::app::error::Error;
use crate::model::account::Account;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::Side;
use crate::store::draft;
use crate::store::intent::{self, Operation};
use crate::store::key::INTENT_PARTITIONS;
use crate::store::{account, user};

findings! {
    /// Users with a record.
    Users: "users", Count;
    /// Follows and requests to follow, counted on the authoritative side.
    Edges: "follows and requests", Count;
    /// Edges that lack the authoritative entry or the mirror, or have different times in the two.
    TornEdges: "one-sided follows", Fault;
    /// Edges to or from nonexistent users, or from a user to themselves.
    DanglingEdges: "follows without a user", Fault;
    /// Blocks whose mirror differs from their truth.
    TornBlocks: "one-sided blocks", Fault;
    /// Blocks between users of whom one follows the other, or has requested to.
    CrossedBlocks: "blocks across a follow", Fault;
    /// Pending requests to follow users whose accounts are public.
    StrayRequests: "requests to public accounts", Fault;
    /// Mutes that an erasure of one of the two users does not find, or has not found.
    UntiedMutes: "mutes without a tie", Fault;
    /// Names that resolve to no user or to a user with another name, and users whose name does not resolve to
    /// them.
    WrongNames: "usernames without a user", Fault;
    /// Accounts with names or follows that do not agree with the account being active or not.
    WrongActivities: "accounts partly inactive", Fault;
    /// Subjects of another application that resolve to no user or to a user of another subject, and users whose
    /// subject does not resolve to them.
    WrongSubjects: "subjects without a user", Fault;
    /// Abandoned jobs that were to push a post to timelines or to remove a post from them.
    GivenUp: "deliveries given up", Fault;
    /// Posts that the archive rejected.
    Unmovable: "posts not archived", Fault;
    /// Users whose recorded number of archived posts differs from the number in the archive.
    Miscounted: "archived posts miscounted", Fault;
    /// Users whose hot posts have wrong creation times.
    Mistimed: "users with wrong post times", Fault;
    /// Users whose set of hot posts that only followers can see is wrong.
    WrongVisibilities: "users with wrong visibilities", Fault;
    /// Replies and quotes that are missing from the list of the post that they refer to, and entries that no post
    /// accounts for.
    WrongReferrals: "wrong replies and quotes", Fault;
    /// Posts with a wrong number of replies, quotes or likes.
    MiscountedReferrals: "replies and quotes miscounted", Fault;
    /// Likes whose mirror differs from their truth.
    TornLikes: "one-sided likes", Fault;
    /// Sets of likes and of bookmarks with a wrong order, tree or number of members.
    WrongReactions: "wrong likes and bookmarks", Fault;
    /// Unfinished operations, which are not faults.
    Unfinished: "operations in progress", Count;
}

/// Maximum number of users per batch.
pub const USERS_AT_A_TIME: u64 = 500;

/// Maximum number of list entries per batch.
const ENTRIES_AT_A_TIME: usize = 5_000;

impl App {
    /// Returns an upper bound on user ids. Makes one round trip.
    pub async fn last_user_id(&self) -> Result<u64, Error> {
        Ok(user::last_id(self.keys()).send("check: last id", self.store()).await?)
    }

    /// Returns an upper bound on post ids. Makes one round trip.
    pub async fn last_post_id(&self) -> Result<u64, Error> {
        Ok(draft::last_id(self.keys()).send("check: last post", self.store()).await?)
    }

    /// Returns the number of shards in the name index.
    #[must_use]
    pub fn name_shards(&self) -> u32 {
        self.keys().name_shards()
    }

    /// Checks the users with the [`USERS_AT_A_TIME`] ids from `first` on: their names and subjects, their lists of
    /// follows and requests, their blocks, the ties of their mutes, their likes and bookmarks, their archived post
    /// counts, the creation times and visibilities of their hot posts, and the replies, quotes and likes of these. With
    /// `repair`, repairs faults.
    pub async fn check_users(&self, first: u64, repair: bool) -> Result<Findings, Error> {
        let ids: Vec<UserId> = (first..first + USERS_AT_A_TIME).filter_map(UserId::new).collect();
        let accounts = self.accounts(&ids).await?.into_iter().flatten();
        let records: Vec<_> = accounts.map(|account| (account.user, account.username)).collect();
        let mut findings = Findings::from([(Finding::Users, records.len() as u64)]);
        let existing: Vec<UserId> = records.iter().map(|(id, _)| *id).collect();
        findings[Finding::WrongNames] += self.check_own_names(records, repair).await?;
        findings[Finding::WrongSubjects] += self.check_own_subjects(&existing, repair).await?;
        for side in [Side::Following, Side::Followers, Side::Requesting, Side::Requests] {
            findings += self.check_lists(&ids, side, repair).await?;
        }
        findings += self.check_activities(&existing, repair).await?;
        findings += self.check_boundaries(&existing, repair).await?;
        findings += self.check_ties(&existing, repair).await?;
        findings += self.check_posts(&ids, repair).await?;
        // After the posts: what a repair takes from these is written again.
        findings += self.check_reactions(&existing, repair).await?;
        Ok(findings)
    }

    /// Checks these users' archived post counts, the creation times and visibilities of their hot posts, and the
    /// replies and quotes of these. With `repair`, repairs faults.
    pub async fn check_posts(&self, ids: &[UserId], repair: bool) -> Result<Findings, Error> {
        let mut findings = self.check_times(ids, repair).await?;
        findings[Finding::Miscounted] += self.check_cold(ids, repair).await?;
        findings += self.check_hot_referrals(ids, repair).await?;
        Ok(findings)
    }

    /// Counts unfinished and abandoned operations. With `repair`, finishes unfinished operations that are old
    /// enough, and retries abandoned operations.
    pub async fn check_intents(&self, repair: bool) -> Result<Findings, Error> {
        if repair {
            self.repair().await?;
        }
        let Backlog { publishing, failed, .. } = self.backlog().await?;
        if repair && failed > 0 {
            self.requeue().await?;
        }
        let unmovable = self.transit().await?.unmovable;
        if repair && unmovable > 0 {
            self.requeue_unmovable().await?;
        }
        let unfinished = self.unfinished().await?.len() as u64 + publishing;
        let counts =
            [(Finding::GivenUp, failed), (Finding::Unmovable, unmovable), (Finding::Unfinished, unfinished)];
        Ok(Findings::from(counts))
    }

    /// Returns these users' accounts; `None` for users without a record.
    async fn accounts(&self, ids: &[UserId]) -> Result<Vec<Option<Account>>, Error> {
        let read = |&id: &UserId| account::read(self.keys(), id);
        self.send_all("check: users", ids.iter().map(read)).await
    }

    /// Returns all unfinished operations, regardless of age.
    async fn unfinished(&self) -> Result<HashSet<Operation>, Error> {
        let read = |partition| intent::begun_by(self.keys(), partition, Timestamp::MAX, 0, usize::MAX >> 1);
        let intents = self.send_all("check: intents", (0..INTENT_PARTITIONS).map(read)).await?;
        Ok(intents.into_iter().flatten().filter_map(|(intent, _)| Some(intent?.operation)).collect())
    }
}
