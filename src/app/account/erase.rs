//! Erases accounts whose deletion cannot be cancelled any more: the posts, the follows and blocks on both sides, and all
//! that others' data contain.
//!
//! 1. Note in the record that the account is being erased.
//! 2. Delete the posts, hot and archived.
//! 3. End all follows and requests, on both sides.
//! 4. Lift all blocks, on both sides.
//! 5. Remove the user from the stars, the regions and the invites, resolve the reports by and about the user, and free
//!    the subject of another application.
//! 6. Wait until the archive has recorded the deletions.
//! 7. Scan for keys of others that contain the user, and for all keys of the user's slot.
//! 8. Free the name, and remove the user from the set of inactive users.
//! 9. Erase the record, and revoke the id.
//!
//! Every step finds what is left to do by itself, so a worker that takes over an interrupted job repeats them from the
//! first. The record goes last: as long as it is there, the job is not done. No call by the user is under way, because
//! the sessions ended at least a minute ago.
//!
//! The log of the moderators keeps the user's id: a log from which its objects can vanish is of no use.

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::app::App;
use crate::app::account::TOGETHER;
use crate::app::account::job::Claim;
use crate::app::archive::Listed;
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::app::post::read::PostPage;
use crate::app::read::Load as _;
use crate::model::clock::{Period, Timestamp};
use crate::model::id::{PostId, UserId};
use crate::model::invite::InvitePosition;
use crate::model::page::{Direction, Window};
use crate::model::relation::Side;
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::compact::{self, CompactSet};
use crate::store::name::{self, Holder};
use crate::store::tree::Shard;
use crate::store::{account, exclusion, follow, invite, region, relation, report, subject, user};

/// Number of posts and blocks that are deleted concurrently.
const CONCURRENTLY: usize = 16;
/// Number of posts read at a time.
const POSTS: usize = 100;
/// Maximum number of jobs read: all.
const ALL_JOBS: usize = usize::MAX >> 1;

impl App {
    /// Erases an account. Returns false if the archive has not recorded all deletions yet, so that the job must be
    /// repeated later.
    pub(super) async fn erase(&self, claim: &mut Claim, username: &str) -> Result<bool, Error> {
        let user = claim.job.user;
        self.erase_posts(claim, user).await?;
        self.erase_follows(claim, user).await?;
        self.erase_blocks(claim, user).await?;
        self.erase_global(user, username).await?;
        self.erase_reports(claim, user).await?;
        self.erase_invites(claim, user).await?;
        let left = account::posts_left(self.keys(), user).send("erase: posts left", self.store()).await?;
        if left > 0 {
            return Ok(false);
        }
        self.erase_found(claim, user).await?;
        self.erase_record(user, username).await?;
        Ok(true)
    }

    /// Runs step 2.
    async fn erase_posts(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let mut from: Option<PostId> = None;
        loop {
            self.keep(claim).await?;
            let window = Window { direction: Direction::Forward, size: POSTS, from };
            let page = PostPage { author: user, window, period: Period::ALL, only_public: false };
            let page = self.load(page).await?;
            let posts: Vec<PostId> = page.entries.iter().map(Listed::id).collect();
            let Some(last) = posts.last() else { return Ok(()) };
            from = Some(*last);
            let deletions = stream::iter(posts).map(|post| self.delete_own(user, post));
            deletions.buffer_unordered(CONCURRENTLY).try_for_each(async |_| Ok(())).await?;
        }
    }

    /// Runs step 3.
    async fn erase_follows(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let withheld = follow::withheld(self.keys(), user).send("erase: withheld", self.store()).await?;
        let edges = withheld.into_iter().map(|followee| Edge { follower: user, followee });
        for edges in edges.collect::<Vec<_>>().chunks(TOGETHER) {
            self.keep(claim).await?;
            self.end_follows(edges.to_vec()).await?;
        }
        for side in [Side::Following, Side::Requesting, Side::Followers, Side::Requests] {
            loop {
                self.keep(claim).await?;
                let read = relation::range(self.keys(), user, side, 0, TOGETHER);
                let entries = read.send("erase: follows", self.store()).await?;
                if entries.is_empty() {
                    break;
                }
                let edges = entries.into_iter().map(|entry| Edge::of(user, side, entry.user)).collect();
                self.end_follows(edges).await?;
            }
        }
        Ok(())
    }

    /// Runs step 4.
    async fn erase_blocks(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let exclusions = exclusion::read(self.keys(), user).send("erase: blocks", self.store()).await?;
        let blocks = exclusions.blocked().into_iter().map(|entry| (user, entry.user)).collect();
        self.lift_blocks(claim, blocks).await?;
        let set = CompactSet::Blockers(user);
        let newest = compact::newest(self.keys(), set, compact::NEWEST);
        let newest = newest.send("erase: blockers", self.store()).await?.members;
        self.lift_blocks(claim, newest.iter().map(|entry| (entry.user, user)).collect()).await?;
        let mut open = vec![Shard::ROOT];
        while let Some(shard) = open.pop() {
            let read = compact::shard(self.keys(), set, shard);
            let elements = read.send("erase: blockers", self.store()).await?;
            open.extend(shard.below(&elements));
            let blockers = elements.into_iter().filter_map(UserId::new);
            self.lift_blocks(claim, blockers.map(|blocker| (blocker, user)).collect()).await?;
        }
        Ok(())
    }

    async fn lift_blocks(&self, claim: &mut Claim, blocks: Vec<(UserId, UserId)>) -> Result<(), Error> {
        for blocks in blocks.chunks(TOGETHER) {
            self.keep(claim).await?;
            let lifts = stream::iter(blocks.to_vec()).map(|(user, other)| self.lift_block(user, other, None));
            lifts.buffer_unordered(CONCURRENTLY).try_for_each(async |_| Ok(())).await?;
        }
        Ok(())
    }

    /// Runs step 5.
    async fn erase_global(&self, user: UserId, username: &str) -> Result<(), Error> {
        let mut batch = Batch::new("erase: global");
        let star = batch.push(account::end_star(self.keys(), user));
        let region = batch.push(region::write(self.keys(), user, None));
        let subject = batch.push(user::subject(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        replies.take(star)?;
        replies.take(region)?;
        if let Some(subject) = replies.take(subject)? {
            let free = subject::free(self.keys(), subject, Holder::Settled(user));
            free.send("erase: subject", self.store()).await?;
        }
        self.forget_known_addresses(username).await
    }

    /// Removes the open reports by a user, about them, and about their posts.
    async fn erase_reports(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let mut cursor = 0;
        loop {
            self.keep(claim).await?;
            let scan = report::scan(self.keys(), cursor).send("erase: reports", self.store()).await?;
            let concerned =
                scan.1.iter().filter(|found| [found.reporter, found.reported.user].contains(&user));
            let mut batch = Batch::new("erase: reports");
            let removed = concerned.map(|found| batch.push(report::resolve(self.keys(), found))).collect();
            batch.send(self.store()).await?.take_all(removed)?;
            cursor = scan.0;
            if cursor == 0 {
                return Ok(());
            }
        }
    }

    /// Makes the user's use of an invite anonymous.
    async fn erase_invites(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let invites = invite::list(self.keys()).send("erase: invites", self.store()).await?;
        for invites in invites.chunks(TOGETHER) {
            self.keep(claim).await?;
            let mut batch = Batch::new("erase: invites");
            let nonce = self.rng().nonce();
            let anonymize =
                |found: &InvitePosition| batch.push(invite::anonymize(self.keys(), &found.code, user, nonce));
            let anonymous = invites.iter().map(anonymize).collect();
            batch.send(self.store()).await?.take_all(anonymous)?;
        }
        Ok(())
    }

    /// Runs step 7.
    async fn erase_found(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        for pattern in account::OTHERS {
            self.erase_like(claim, pattern, |name| account::remove_from(self.keys(), name, user)).await?;
        }
        let own = account::pattern_of(user);
        self.erase_like(claim, &own, |name| account::delete_found(self.keys(), name, user)).await
    }

    /// Sends a command for each key that matches a pattern.
    async fn erase_like(
        &self,
        claim: &mut Claim,
        pattern: &str,
        command: impl Fn(&[u8]) -> Option<Command<i64>>,
    ) -> Result<(), Error> {
        let mut scan = self.store().scan(pattern);
        while let Some(names) = scan.next().await? {
            self.keep(claim).await?;
            let mut batch = Batch::new("erase: found");
            let commands = names.iter().filter_map(|name| command(name));
            let tickets = commands.map(|command| batch.push(command)).collect();
            batch.send(self.store()).await?.take_all(tickets)?;
        }
        Ok(())
    }

    /// Runs steps 8 and 9.
    async fn erase_record(&self, user: UserId, username: &str) -> Result<(), Error> {
        let jobs = account::due_jobs(self.keys(), Timestamp::MAX, ALL_JOBS);
        let jobs = jobs.send("erase: jobs", self.store()).await?;
        let mut batch = Batch::new("erase: name");
        let name = Username::parse(username).ok();
        let name = name.map(|name| batch.push(name::free(self.keys(), &name, Holder::Inactive(user))));
        let listed = batch.push(account::unlist_inactive(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        name.map(|name| replies.take(name)).transpose()?;
        replies.take(listed)?;
        self.write_account(user, account::erase(self.keys(), user, self.now())).await?;
        // This job's last: until then, another worker would take it over.
        let jobs: Vec<_> = jobs.into_iter().map(|(job, _)| job).filter(|job| job.user == user).collect();
        if !jobs.is_empty() {
            account::remove_jobs(self.keys(), &jobs).send("erase: jobs", self.store()).await?;
        }
        Ok(())
    }
}
