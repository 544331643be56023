//! Checks blocks: their mirrors, and that there are no follows across them; and requests to follow users whose accounts
//! are public, which should have been accepted.
//!
//! Not here: the mirrors of follows and requests (`app::check::edge`).

use std::collections::HashSet;

use crate::app::App;
use crate::app::check::{Finding, Findings};
use crate::app::error::Error;
use crate::model::id::UserId;
use crate::model::relation::FollowState;
use crate::store::batch::Batch;
use crate::store::compact::{self, MOST_MEMBERS};
use crate::store::intent::Operation;
use crate::store::{block, exclusion, follow, user};

/// Maximum number of blocks checked together.
const TOGETHER: usize = 1_000;

impl App {
    /// Checks the blocks by these users, the mirrors of blocks of them, and the requests to follow them. With `repair`,
    /// repairs faults.
    pub(super) async fn check_boundaries(&self, ids: &[UserId], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let pairs: Vec<(UserId, UserId)> = self.blocks_of(ids).await?.into_iter().collect();
        for pairs in pairs.chunks(TOGETHER) {
            findings += self.check_blocks(pairs, ids, repair).await?;
        }
        findings += self.check_requests(ids, repair).await?;
        Ok(findings)
    }

    /// Returns all pairs of a user who blocks and a user who is blocked, by either of the two copies.
    async fn blocks_of(&self, ids: &[UserId]) -> Result<HashSet<(UserId, UserId)>, Error> {
        let commands = ids.iter().map(|&id| block::has_any(self.keys(), id));
        let has_any = self.send_all("check: blocks", commands).await?;
        let ids = ids.iter().zip(has_any).filter(|(_, has_any)| *has_any).map(|(id, _)| id);
        let mut batch = Batch::new("check: blocks");
        let read = |&id: &UserId| {
            let blockers = compact::all(self.keys(), self.keys().blockers(id), MOST_MEMBERS);
            (id, batch.push(exclusion::read(self.keys(), id)), batch.push(blockers))
        };
        let tickets: Vec<_> = ids.map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut pairs = HashSet::new();
        for (id, exclusions, blockers) in tickets {
            pairs.extend(replies.take(exclusions)?.blocked().into_iter().map(|entry| (id, entry.id)));
            // More than these are checked from the side of those who block.
            let blockers = replies.take(blockers)?.unwrap_or_default();
            pairs.extend(blockers.into_iter().map(|blocker| (blocker, id)));
        }
        Ok(pairs)
    }

    async fn check_blocks(
        &self,
        pairs: &[(UserId, UserId)],
        ids: &[UserId],
        repair: bool,
    ) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut faulty = self.faulty_blocks(pairs, ids).await?;
        if !faulty.is_empty() {
            let suspects: Vec<_> = faulty.into_iter().map(|(pair, _)| pair).collect();
            faulty = self.faulty_blocks(&suspects, ids).await?;
        }
        let under_way = if faulty.is_empty() { HashSet::new() } else { self.unfinished().await? };
        for ((user, other), fault) in faulty {
            if under_way.contains(&Operation::Block { user, other }) {
                continue;
            }
            match fault {
                Fault::Torn => findings[Finding::TornBlocks] += 1,
                Fault::Crossed => findings[Finding::CrossedBlocks] += 1,
            }
            if repair {
                self.repair_block(user, other).await?;
                self.repeat_block(user, other).await?;
            }
        }
        Ok(findings)
    }

    /// Returns the pairs with a fault. A follow across a block is a fault only if the user who blocks is in `ids`,
    /// which are in ascending order, so that it is counted once.
    async fn faulty_blocks(
        &self,
        pairs: &[(UserId, UserId)],
        ids: &[UserId],
    ) -> Result<Vec<((UserId, UserId), Fault)>, Error> {
        let mut batch = Batch::new("check: blocks");
        let read = |&(user, other): &(UserId, UserId)| {
            let mirror = compact::contains(&self.keys().blockers(other), &[user]);
            let back = follow::read(self.keys(), other, user);
            (batch.push(block::read(self.keys(), user, other)), batch.push(mirror), batch.push(back))
        };
        let tickets: Vec<_> = pairs.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut faulty = Vec::new();
        for (pair, (truth, mirror, back)) in pairs.iter().zip(tickets) {
            let (block, follow) = replies.take(truth)?;
            let is_mirrored = replies.take(mirror)?.contains(&true);
            let follows = [follow, replies.take(back)?.state];
            if block.since.is_some() != is_mirrored {
                faulty.push((*pair, Fault::Torn));
            } else if is_mirrored
                && ids.binary_search(&pair.0).is_ok()
                && follows.iter().any(|follow| *follow != FollowState::None)
            {
                faulty.push((*pair, Fault::Crossed));
            }
        }
        Ok(faulty)
    }

    /// Finds requests to follow users whose accounts are public. Counts up to 1,000 per user. With `repair`, accepts
    /// all of them.
    async fn check_requests(&self, ids: &[UserId], repair: bool) -> Result<Findings, Error> {
        let read = |&id: &UserId| user::requests_to_public(self.keys(), id, TOGETHER);
        let requests = self.send_all("check: requests", ids.iter().map(read)).await?;
        let mut findings = Findings::default();
        for (id, requests) in ids.iter().zip(requests) {
            let requests = requests.unwrap_or_default();
            if requests.is_empty() {
                continue;
            }
            let under_way = self.unfinished().await?;
            let is_stray = |follower: &&UserId| {
                let edge = Operation::Edge { follower: **follower, followee: *id };
                !under_way.contains(&edge) && !under_way.contains(&Operation::Public { user: *id })
            };
            let stray = requests.iter().filter(is_stray).count();
            findings[Finding::StrayRequests] += stray as u64;
            while repair && stray > 0 && !self.accept_requests(*id).await? {}
        }
        Ok(findings)
    }
}

/// A fault of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Fault {
    /// The mirror differs from the truth.
    Torn,
    /// One of the two users follows the other, or has requested to.
    Crossed,
}
