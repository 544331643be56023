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
mod entry;
mod finding;
mod referral;
mod state;
mod subject;
mod tie;

use std::collections::HashSet;

pub use self::conversion::Conversion;
pub use self::finding::{Finding, Findings};
use crate::app::App;
use crate::app::delivery::Backlog;
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::model::account::Account;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::{Follow, FollowState, Side};
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::draft;
use crate::store::intent::{self, Operation};
use crate::store::key::INTENT_PARTITIONS;
use crate::store::name::{self, Holder};
use crate::store::relation::{self, PROBE};
use crate::store::{account, user};

/// Maximum number of users per batch.
pub const USERS_AT_A_TIME: u64 = 500;

/// Maximum number of list entries per batch.
const ENTRIES_AT_A_TIME: usize = 5_000;

/// An entry in one of a user's lists of follows and requests to follow.
#[derive(Clone, Copy)]
struct Entry {
    user: UserId,
    side: Side,
    follow: Follow,
}

impl Entry {
    fn edge(&self) -> Edge {
        Edge::of(self.user, self.side, self.follow.user)
    }
}

/// The mirror of a follow: its times in the followed user's two lists.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Mirror {
    followed: Option<Timestamp>,
    requested: Option<Timestamp>,
}

/// Returns the mirror that belongs to a truth.
fn mirror_of(truth: FollowState) -> Mirror {
    match truth {
        FollowState::None => Mirror { followed: None, requested: None },
        FollowState::Following(at) => Mirror { followed: Some(at), requested: None },
        FollowState::Requested(at) => Mirror { followed: None, requested: Some(at) },
    }
}

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
    /// follows and requests, their blocks, the ties of their mutes, their archived post counts, the creation times and
    /// visibilities of their hot posts, and the replies and quotes of these. With `repair`, repairs faults.
    pub async fn check_users(&self, first: u64, repair: bool) -> Result<Findings, Error> {
        let ids: Vec<UserId> = (first..first + USERS_AT_A_TIME).filter_map(UserId::new).collect();
        let accounts = self.accounts(&ids).await?.into_iter().flatten();
        let records: Vec<_> = accounts.map(|account| (account.user, account.username)).collect();
        let mut findings = Findings::from([(Finding::Users, records.len() as u64)]);
        let existing: Vec<UserId> = records.iter().map(|(id, _)| *id).collect();
        let unnamed = self.unnamed(self.unnamed(records).await?).await?;
        findings[Finding::WrongNames] += unnamed.len() as u64;
        if repair {
            for (id, username) in unnamed {
                self.name_again(id, &username).await?;
            }
        }
        findings[Finding::WrongSubjects] += self.check_own_subjects(&existing, repair).await?;
        for side in [Side::Following, Side::Followers, Side::Requesting, Side::Requests] {
            findings += self.check_lists(&ids, side, repair).await?;
        }
        findings += self.check_activities(&existing, repair).await?;
        findings += self.check_boundaries(&existing, repair).await?;
        findings += self.check_ties(&existing, repair).await?;
        findings += self.check_posts(&ids, repair).await?;
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

    /// Checks one shard of the name index. With `repair`, frees names that resolve to no user or to a user
    /// with another name, and ends reservations.
    pub async fn check_names(&self, shard: u32, repair: bool) -> Result<Findings, Error> {
        let names = name::all(self.keys(), shard).send("check: names", self.store()).await?;
        let ids: Vec<UserId> = names.iter().map(|(_, holder)| holder.user()).collect();
        let found = self.accounts(&ids).await?;
        let mut findings = Findings::default();
        for ((username, holder), found) in names.into_iter().zip(found) {
            let found = found.filter(|account| account.username == username.as_str());
            match (holder, found) {
                (Holder::Settled(_), Some(account)) if account.is_active() => {}
                (Holder::Inactive(_), Some(account)) if !account.is_active() => {}
                (Holder::Settled(_) | Holder::Inactive(_), Some(account)) => {
                    findings += self.check_activity(account.user, repair).await?;
                }
                (Holder::Settled(_) | Holder::Inactive(_), None) => {
                    findings[Finding::WrongNames] += 1;
                    if repair {
                        name::free(self.keys(), &username, holder).send("check: free", self.store()).await?;
                    }
                }
                (Holder::Reserved(user), _) => {
                    // A reservation with an intent is in progress, or the repairer will finish it.
                    if !self
                        .unfinished()
                        .await?
                        .contains(&Operation::Name { username: username.clone(), user })
                    {
                        findings[Finding::WrongNames] += 1;
                    }
                    if repair {
                        self.end_reservation(&username, user).await?;
                    }
                }
            }
        }
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

    /// Returns the users whose name neither resolves to them nor is reserved for them.
    async fn unnamed(&self, users: Vec<(UserId, String)>) -> Result<Vec<(UserId, String)>, Error> {
        let mut batch = Batch::new("check: holders");
        let read = |(_, username): &(UserId, String)| {
            let username = Username::parse(username).ok()?;
            Some(batch.push(name::holder(self.keys(), &username)))
        };
        let tickets: Vec<_> = users.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut unnamed = Vec::new();
        for (user, ticket) in users.into_iter().zip(tickets) {
            let holder = ticket.map(|ticket| replies.take(ticket)).transpose()?.flatten();
            if holder.map(Holder::user) != Some(user.0) {
                unnamed.push(user);
            }
        }
        Ok(unnamed)
    }

    /// Points a user's name to the user again, if the name is valid and free.
    async fn name_again(&self, id: UserId, username: &str) -> Result<(), Error> {
        if let Ok(username) = Username::parse(username) {
            name::reserve(self.keys(), &username, id).send("check: reserve", self.store()).await?;
            name::settle(self.keys(), &username, id).send("check: settle", self.store()).await?;
        }
        Ok(())
    }

    /// Traverses one list of each user, and checks the other side of each edge.
    async fn check_lists(&self, ids: &[UserId], side: Side, repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut open: Vec<(UserId, usize)> = ids.iter().map(|&id| (id, 0)).collect();
        while !open.is_empty() {
            let read =
                |&(user, start): &(UserId, usize)| relation::range(self.keys(), user, side, start, PROBE);
            let pages = self.send_all("check: lists", open.iter().map(read)).await?;
            let mut entries = Vec::new();
            let mut rest = Vec::new();
            for ((user, start), page) in open.into_iter().zip(pages) {
                if page.len() == PROBE {
                    rest.push((user, start + PROBE));
                }
                entries.extend(page.into_iter().map(|follow| Entry { user, side, follow }));
            }
            if side.is_truth() {
                findings[Finding::Edges] += entries.len() as u64;
            }
            for entries in entries.chunks(ENTRIES_AT_A_TIME) {
                findings += self.check_entries(entries, repair).await?;
            }
            open = rest;
        }
        Ok(findings)
    }

    async fn check_entries(&self, entries: &[Entry], repair: bool) -> Result<Findings, Error> {
        let suspects = self.suspects(entries).await?;
        if suspects.is_empty() {
            return Ok(Findings::default());
        }
        let suspects = self.suspects(&suspects).await?;
        let under_way = self.unfinished().await?;
        let mut findings = Findings::default();
        for entry in suspects {
            let edge = entry.edge();
            if under_way.contains(&Operation::Edge { follower: edge.follower, followee: edge.followee }) {
                continue;
            }
            let ends = self.accounts(&[edge.follower, edge.followee]).await?;
            let is_listed = |account: &Option<Account>| account.as_ref().is_some_and(Account::is_active);
            if entry.side.is_truth() && ends[0].is_some() && ends[1].is_some() && !is_listed(&ends[1]) {
                findings += self.check_activity(edge.followee, repair).await?;
            } else if ends.iter().all(Option::is_some) && edge.follower != edge.followee {
                findings[Finding::TornEdges] += 1;
                if repair {
                    self.repair_edges(&[edge]).await?;
                }
            } else {
                findings[Finding::DanglingEdges] += 1;
                if repair {
                    self.remove_entry(entry).await?;
                }
            }
        }
        Ok(findings)
    }

    /// Returns the entries whose edge differs between its two sides, and the entries that refer to a
    /// nonexistent user or to the list's owner.
    async fn suspects(&self, entries: &[Entry]) -> Result<Vec<Entry>, Error> {
        let truths = self.read_truths(entries.iter().map(Entry::edge).collect()).await?;
        let mirrors = self.read_mirrors(entries).await?;
        let others: Vec<UserId> = entries.iter().map(|entry| entry.follow.user).collect();
        let others = self.accounts(&others).await?;
        let looks = entries.iter().zip(truths).zip(mirrors).zip(others);
        let suspect = looks.filter_map(|(((entry, (_, truth)), mirror), other)| {
            // A mirror with an authoritative entry is checked from the authoritative side.
            let is_seen_here = entry.side.is_truth() || truth == FollowState::None;
            let is_torn = mirror_of(truth) != mirror && is_seen_here;
            let is_listed = |account: Account| !entry.side.is_truth() || account.is_active();
            let is_wrong = !other.is_some_and(is_listed) || entry.user == entry.follow.user;
            (is_torn || is_wrong).then_some(*entry)
        });
        Ok(suspect.collect())
    }

    async fn read_mirrors(&self, entries: &[Entry]) -> Result<Vec<Mirror>, Error> {
        let read = |entry: &Entry| {
            let Edge { follower, followee } = entry.edge();
            let time = |side| relation::time(self.keys(), followee, side, follower);
            [time(Side::Followers), time(Side::Requests)]
        };
        let times = self.send_all("check: mirrors", entries.iter().flat_map(read)).await?;
        Ok(times.chunks_exact(2).map(|times| Mirror { followed: times[0], requested: times[1] }).collect())
    }

    async fn remove_entry(&self, entry: Entry) -> Result<(), Error> {
        let remove = relation::remove(self.keys(), entry.user, entry.side, entry.follow.user);
        remove.send("check: remove", self.store()).await?;
        Ok(())
    }

    /// Returns all unfinished operations, regardless of age.
    async fn unfinished(&self) -> Result<HashSet<Operation>, Error> {
        let read = |partition| intent::begun_by(self.keys(), partition, Timestamp::MAX, 0, usize::MAX >> 1);
        let intents = self.send_all("check: intents", (0..INTENT_PARTITIONS).map(read)).await?;
        Ok(intents.into_iter().flatten().filter_map(|(intent, _)| Some(intent?.operation)).collect())
    }
}
