//! Erases accounts whose deletion cannot be cancelled any more: the posts, the follows and blocks on both sides, and
//! all that others' data contain.
//!
//! 1. Note in the record that the account is being erased.
//! 2. Delete the posts, hot and archived.
//! 3. End all follows and requests, on both sides.
//! 4. Lift all blocks, on both sides.
//! 5. Take all likes back.
//! 6. Remove the user from the stars, the regions and the invites, resolve the reports by and about the user, and free
//!    the subject of another application.
//! 7. Wait until the archive has recorded the deletions.
//! 8. Remove the user from the mutes and the recovery codes of others, the viewers of profiles and the visitors of
//!    days.
//! 9. Delete all other keys of the user's slot.
//! 10. Free the name, and remove the user from the set of inactive users.
//! 11. Erase the record, and revoke the id.
//!
//! Every step finds what is left to do by itself, and removes what it has done from where it finds it. So a worker that
//! takes over an interrupted job repeats the steps from the first, and has less to do each time. The record goes last:
//! as long as it is there, the job is not done. No call by the user is under way, because the sessions ended at least a
//! minute ago.
//!
//! # Why nothing is searched
//! An erasure takes time in proportion to what the account has, however much others have. A search of all keys, as by
//! `SCAN`, takes five seconds or more of each ten million keys; it finds no key that a cluster moves meanwhile, and a
//! cursor is worth nothing after a failover. So whatever names a user in another's slot is found from the user's own
//! slot:
//! - follows, requests and blocks, since they are in both;
//! - mutes and recovery codes, by ties in both slots that are written before ([`crate::store::tie`]);
//! - views of profiles, by what the viewer has noted before ([`crate::store::audience`]), and the other way round by
//!   the viewers of the user's own profile. A note whose view has expired stays up to eight days longer, then expires
//!   as well;
//! - visits, because the user's id determines the shard of each day.
//!
//! The keys of the slot itself have fixed names, are in a tree, or are named by another key
//! ([`crate::store::expiring`]); `tests/it/sources/keys.rs` compares the list with all keys. Lists that all users share
//! are limited (invites) or read some at a time (jobs); open reports are only read if a counter says that some concern
//! the user.
//!
//! A crash of Redis may lose the last tie and keep its mute; `fanfold check --repair` adds ties that are missing.
//!
//! The log of the moderators keeps the user's id: a log from which its objects can vanish is of no use.

use futures::{StreamExt as _, TryStreamExt as _, stream};

use crate::app::App;
use crate::app::account::TOGETHER;
use crate::app::account::job::Claim;
use crate::app::archive::Listed;
use crate::app::edge::Edge;
use crate::app::error::Error;
use crate::app::post::like::{LikeWalk, Liking};
use crate::app::post::read::PostPage;
use crate::app::read::Load as _;
use crate::model::clock::{Day, Period};
use crate::model::id::{PostId, UserId};
use crate::model::invite::InviteCode;
use crate::model::page::{Direction, Position, Window};
use crate::model::reaction::ReactionKind;
use crate::model::relation::Side;
use crate::model::user::Username;
use crate::store::batch::Batch;
use crate::store::compact;
use crate::store::erasure::{self, Tree};
use crate::store::key::Layout;
use crate::store::name::{self, Holder};
use crate::store::tree::Shard;
use crate::store::{
    account, exclusion, expiring, follow, invite, region, relation, report, subject, user, visit,
};

/// Number of posts and blocks that are deleted concurrently.
const CONCURRENTLY: usize = 16;
/// Number of posts read at a time.
const POSTS: usize = 100;
/// Number of members of a tree from whose data a user is removed at a time, with up to eight scripts for each: some
/// milliseconds of Redis.
const MEMBERS: usize = 100;

/// A step of the traversal of a tree.
enum Step {
    /// Read a shard, and traverse those below it.
    Enter(Shard),
    /// Remove the user from what these members of a shard have, and delete the shard.
    Leave(Shard, Vec<UserId>),
}

impl App {
    /// Erases an account. Returns false if the archive has not recorded all deletions yet, so that the job must be
    /// repeated later.
    pub(super) async fn erase(&self, claim: &mut Claim, username: &str) -> Result<bool, Error> {
        let user = claim.job.user;
        self.erase_posts(claim, user).await?;
        self.erase_follows(claim, user).await?;
        self.erase_blocks(claim, user).await?;
        self.erase_likes(claim, user).await?;
        self.erase_global(user, username).await?;
        self.erase_reports(claim, user).await?;
        self.erase_invites(claim, user).await?;
        let left = account::posts_left(self.keys(), user).send("erase: posts left", self.store()).await?;
        if left > 0 {
            return Ok(false);
        }
        self.erase_connections(claim, user).await?;
        self.erase_own(claim, user).await?;
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
        let blocks = exclusions.blocked().into_iter().map(|entry| (user, entry.id)).collect();
        self.lift_blocks(claim, blocks).await?;
        let newest = compact::newest(&self.keys().blockers(user), compact::NEWEST);
        let newest = newest.send("erase: blockers", self.store()).await?.members;
        self.lift_blocks(claim, newest.iter().map(|entry| (entry.user, user)).collect()).await?;
        self.erase_tree(claim, user, Tree::Blockers).await
    }

    /// Runs step 5: takes all likes back, also those that only the archive has, because Redis has lost them.
    async fn erase_likes(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let mut walk = LikeWalk::default();
        loop {
            self.keep(claim).await?;
            let likings = self.next_likes(user, &mut walk, TOGETHER).await?;
            if likings.is_empty() {
                break;
            }
            self.end_likes(&likings).await?;
        }
        self.erase_tree(claim, user, Tree::Reactions(ReactionKind::Like)).await?;
        if self.transit().await?.moved == 0 {
            return Ok(());
        }
        let mut after = 0;
        loop {
            self.keep(claim).await?;
            let posts = self.archive().await?.likes_of(user, after, TOGETHER).await?;
            let Some(last) = posts.last() else { return Ok(()) };
            after = last.get();
            let likings: Vec<Liking> = posts.into_iter().map(|post| Liking { user, post }).collect();
            self.end_likes(&likings).await?;
        }
    }

    async fn lift_blocks(&self, claim: &mut Claim, blocks: Vec<(UserId, UserId)>) -> Result<(), Error> {
        for blocks in blocks.chunks(TOGETHER) {
            self.keep(claim).await?;
            let lifts = stream::iter(blocks.to_vec()).map(|(user, other)| self.lift_block(user, other, None));
            lifts.buffer_unordered(CONCURRENTLY).try_for_each(async |_| Ok(())).await?;
        }
        Ok(())
    }

    /// Runs step 6.
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
        let concerning = report::concerning(self.keys(), user).send("erase: count reports", self.store());
        if concerning.await? == 0 {
            return Ok(());
        }
        let mut cursor = 0;
        loop {
            self.keep(claim).await?;
            let scan = report::scan(self.keys(), cursor).send("erase: reports", self.store()).await?;
            let concerned =
                scan.1.iter().filter(|found| [found.reporter, found.reported.user].contains(&user));
            let commands = concerned.map(|found| report::resolve(self.keys(), found));
            self.send_all("erase: reports", commands).await?;
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
            let nonce = self.rng().nonce();
            let anonymize =
                |found: &Position<InviteCode>| invite::anonymize(self.keys(), &found.id, user, nonce);
            self.send_all("erase: invites", invites.iter().map(anonymize)).await?;
        }
        Ok(())
    }

    /// Runs step 8.
    async fn erase_connections(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        let trees: Vec<Tree> = Tree::all(Day::of(self.now())).collect();
        let read = |tree: &Tree| erasure::elements(self.keys(), user, *tree, Shard::ROOT);
        let roots = self.send_all("erase: trees", trees.iter().map(read)).await?;
        for (tree, root) in trees.into_iter().zip(roots) {
            if !root.is_empty() {
                self.erase_tree(claim, user, tree).await?;
            }
        }
        self.erase_visits(user).await
    }

    /// Removes a user from what the members of a tree have, and deletes the tree. Deletes each shard after those below
    /// it, so that a worker that takes over finds what is left.
    async fn erase_tree(&self, claim: &mut Claim, user: UserId, tree: Tree) -> Result<(), Error> {
        let mut steps = vec![Step::Enter(Shard::ROOT)];
        while let Some(step) = steps.pop() {
            match step {
                Step::Enter(shard) => {
                    let elements = erasure::elements(self.keys(), user, tree, shard);
                    let elements = elements.send("erase: shard", self.store()).await?;
                    let below = shard.below(&elements);
                    if !elements.is_empty() {
                        steps.push(Step::Leave(shard, tree.users(&elements)));
                    }
                    steps.extend(below.into_iter().map(Step::Enter));
                }
                Step::Leave(shard, members) => {
                    self.forget_user(claim, user, tree, members).await?;
                    let delete = erasure::delete_shard(self.keys(), user, tree, shard);
                    delete.send("erase: delete shard", self.store()).await?;
                }
            }
        }
        Ok(())
    }

    /// Removes a user from what members of one of the user's trees have.
    async fn forget_user(
        &self,
        claim: &mut Claim,
        user: UserId,
        tree: Tree,
        members: Vec<UserId>,
    ) -> Result<(), Error> {
        if tree == Tree::Blockers {
            return self.lift_blocks(claim, members.into_iter().map(|member| (member, user)).collect()).await;
        }
        for members in members.chunks(MEMBERS) {
            self.keep(claim).await?;
            let forget = members.iter().flat_map(|&member| erasure::forget(self.keys(), user, tree, member));
            self.send_all("erase: forget", forget).await?;
        }
        Ok(())
    }

    /// Removes a user from the visitors of all days.
    async fn erase_visits(&self, user: UserId) -> Result<(), Error> {
        let mut batch = Batch::new("erase: days");
        let (open, closed) = (batch.push(visit::days(self.keys())), batch.push(visit::closed(self.keys())));
        let mut replies = batch.send(self.store()).await?;
        let (open, closed) = (replies.take(open)?.open, replies.take(closed)?);
        let remove = |layout: Layout| visit::remove(self.keys(), layout, user);
        self.send_all("erase: visits", open.into_iter().chain(closed).map(remove)).await?;
        Ok(())
    }

    /// Runs step 9.
    async fn erase_own(&self, claim: &mut Claim, user: UserId) -> Result<(), Error> {
        loop {
            self.keep(claim).await?;
            let names = expiring::names(self.keys(), user).send("erase: names", self.store()).await?;
            if names.is_empty() {
                break;
            }
            let delete = names.iter().filter_map(|name| expiring::delete(self.keys(), user, name));
            self.send_all("erase: expiring", delete).await?;
            expiring::forget(self.keys(), user, &names).send("erase: forget names", self.store()).await?;
        }
        erasure::delete_own(self.keys(), user).send("erase: own", self.store()).await?;
        Ok(())
    }

    /// Runs steps 10 and 11.
    async fn erase_record(&self, user: UserId, username: &str) -> Result<(), Error> {
        let jobs = self.jobs_of(user).await?;
        let mut batch = Batch::new("erase: name");
        let name = Username::parse(username).ok();
        let name = name.map(|name| batch.push(name::free(self.keys(), &name, Holder::Inactive(user))));
        let listed = batch.push(account::unlist_inactive(self.keys(), user));
        let mut replies = batch.send(self.store()).await?;
        name.map(|name| replies.take(name)).transpose()?;
        replies.take(listed)?;
        self.write_account(user, account::erase(self.keys(), user, self.now())).await?;
        // This job's last: until then, another worker would take it over.
        if !jobs.is_empty() {
            account::remove_jobs(self.keys(), &jobs).send("erase: jobs", self.store()).await?;
        }
        Ok(())
    }
}
