//! Checks that follows and requests to follow are the same on both sides.

use crate::app::App;
use crate::app::check::{ENTRIES_AT_A_TIME, Finding, Findings};
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::model::account::Account;
use crate::model::clock::Timestamp;
use crate::model::id::UserId;
use crate::model::relation::{Follow, FollowState, Side};
use crate::store::intent::Operation;
use crate::store::relation::{self, PROBE};

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
    /// Traverses one list of each user, and checks the other side of each edge.
    pub(super) async fn check_lists(
        &self,
        ids: &[UserId],
        side: Side,
        repair: bool,
    ) -> Result<Findings, Error> {
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
}
