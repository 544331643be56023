//! Checks the likes of posts: that they are the same on both sides, so that each post that a user likes has the user
//! among its likes, and no post has others; that they are counted; and that nothing is left of them in Redis once a
//! post is archived.
//!
//! A like that is being written, and those of an account with which its likes are being made to agree, are not judged.
//!
//! Not here: the sets of the users who like posts (`app::check::reaction`), and the numbers of archived likes
//! (`app::check::referral`).

use std::collections::{HashMap, HashSet};

use crate::app::App;
use crate::app::check::state::{State, Storage};
use crate::app::check::{ENTRIES_AT_A_TIME, Finding, Findings};
use crate::app::error::Error;
use crate::app::post::like::{LikeWalk, Liking};
use crate::model::id::{PostId, UserId};
use crate::model::like::Like;
use crate::model::post::Post;
use crate::store::batch::Batch;
use crate::store::compact;
use crate::store::like;
use crate::store::malformed::{self, Form};
use crate::store::tree::Shard;

/// Number of shards of likes that are read together.
const SHARDS: usize = 10;

impl App {
    /// Checks all likes of a user. With `repair`, repairs faults.
    pub(super) async fn check_likes_of(&self, user: UserId, repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        let mut walk = LikeWalk::default();
        loop {
            let likings = self.next_likes(user, &mut walk, ENTRIES_AT_A_TIME).await?;
            if likings.is_empty() {
                return Ok(findings);
            }
            findings += self.check_likings(&likings, repair).await?;
        }
    }

    /// Checks the likes that these posts have, if they are in this storage. With `repair`, repairs faults.
    pub(super) async fn check_likes_at(
        &self,
        storage: Storage,
        posts: &[PostId],
        repair: bool,
    ) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        if storage == Storage::Archive {
            let liked = self.archive().await?.like_counts(posts).await?;
            findings += self.check_archived_likes(liked.into_keys(), repair).await?;
            findings[Finding::WrongReactions] += self.check_shards_left(posts, repair).await?;
            return Ok(findings);
        }
        let forms = self.forms_of_likes(posts, repair).await?;
        let mut small = Vec::new();
        for (&post, form) in posts.iter().zip(forms) {
            let mut wrong = form.wrong;
            if form.has_tree() && (wrong == 0 || repair) {
                let (found, more) = self.check_tree_of_likes(post, repair).await?;
                findings += found;
                wrong += more + self.check_newest_of_tree(post, repair).await?;
            }
            if form.has_others() && (form.wrong == 0 || repair) {
                small.push(post);
            }
            findings[Finding::WrongReactions] += u64::from(wrong > 0);
        }
        let newest = small.iter().map(|post| like::numbered(self.keys(), *post));
        let newest = self.send_all("check: newest likes", newest).await?;
        let of_post = |(post, likes): (PostId, Vec<Like>)| {
            likes.into_iter().map(move |like| Liking { user: like.member, post })
        };
        let likings: Vec<_> = small.into_iter().zip(newest).flat_map(of_post).collect();
        findings += self.check_likings(&likings, repair).await?;
        Ok(findings)
    }

    async fn forms_of_likes(&self, posts: &[PostId], repair: bool) -> Result<Vec<Form>, Error> {
        let forms = posts.iter().map(|post| malformed::compact(&self.keys().likes(*post), repair));
        self.send_all("check: likes of posts", forms).await
    }

    async fn check_archived_likes(
        &self,
        posts: impl Iterator<Item = PostId>,
        repair: bool,
    ) -> Result<Findings, Error> {
        let (mut findings, mut likings) = (Findings::default(), Vec::new());
        for post in posts {
            let mut after = 0;
            loop {
                let users = self.archive().await?.likers_after(post, after, ENTRIES_AT_A_TIME).await?;
                let Some(last) = users.last() else { break };
                after = last.get();
                likings.extend(users.iter().map(|&user| Liking { user, post }));
                if likings.len() >= ENTRIES_AT_A_TIME {
                    findings += self.check_likings(&std::mem::take(&mut likings), repair).await?;
                }
            }
        }
        findings += self.check_likings(&likings, repair).await?;
        Ok(findings)
    }

    /// Checks the likes in the tree of a hot post. Returns also the number of keys and elements that are wrong, except
    /// in the root.
    async fn check_tree_of_likes(&self, post: PostId, repair: bool) -> Result<(Findings, u64), Error> {
        let (mut findings, mut wrong, mut open) = (Findings::default(), 0, vec![Shard::ROOT]);
        while !open.is_empty() {
            let shards: Vec<Shard> = open.drain(open.len().saturating_sub(SHARDS)..).collect();
            let form = like::form_of_shards(self.keys(), post, &shards, repair);
            let form = form.send("check: shards of likes", self.store()).await?;
            wrong += form.wrong;
            if form.wrong > 0 && !repair {
                break;
            }
            let (users, below) = self.likers_in(post, &shards).await?;
            open.extend(below);
            let likings: Vec<_> = users.into_iter().map(|user| Liking { user, post }).collect();
            findings += self.check_likings(&likings, repair).await?;
        }
        Ok((findings, wrong))
    }

    /// Returns the number of users who are among the newest likes of a hot post with a tree, though the tree lacks them
    /// and they do not like the post. With `repair`, removes them.
    async fn check_newest_of_tree(&self, post: PostId, repair: bool) -> Result<u64, Error> {
        let suspects = self.newest_outside_tree(post).await?;
        if suspects.is_empty() {
            return Ok(0);
        }
        // The second time, no script has changed the set in between.
        let mut strays = self.newest_outside_tree(post).await?;
        strays.retain(|liking| suspects.contains(liking));
        let number = strays.len() as u64;
        if repair {
            self.make_likes_agree(strays).await?;
        }
        Ok(number)
    }

    async fn newest_outside_tree(&self, post: PostId) -> Result<Vec<Liking>, Error> {
        let newest = like::numbered(self.keys(), post).send("check: newest likes", self.store()).await?;
        let likings: Vec<_> = newest.iter().map(|like| Liking { user: like.member, post }).collect();
        let (truths, in_tree) = (self.like_truths(&likings).await?, self.hot_mirrors(&likings).await?);
        let of_each = likings.into_iter().zip(truths).zip(in_tree);
        let strays = of_each.filter(|((_, truth), in_tree)| *truth == Some(false) && *in_tree == Some(false));
        Ok(strays.map(|((liking, _), _)| liking).collect())
    }

    /// Returns the users in these shards, and the shards below them.
    async fn likers_in(&self, post: PostId, shards: &[Shard]) -> Result<(Vec<UserId>, Vec<Shard>), Error> {
        let read = shards.iter().map(|shard| like::elements(self.keys(), post, *shard));
        let found = self.send_all("check: shards of likes", read).await?;
        let below = shards.iter().zip(&found).flat_map(|(shard, elements)| shard.below(elements)).collect();
        Ok((found.into_iter().flatten().filter_map(UserId::new).collect(), below))
    }

    /// Returns the number of users who like a hot post; `None` if its likes are unreadable.
    pub(super) async fn number_of_likes(&self, post: PostId) -> Result<Option<u64>, Error> {
        let form = self.forms_of_likes(&[post], false).await?.remove(0);
        if form.wrong > 0 {
            return Ok(None);
        }
        if form.has_tree() {
            return self.number_in_tree(post).await;
        }
        let newest = like::numbered(self.keys(), post).send("check: newest likes", self.store()).await?;
        Ok(Some(newest.len() as u64))
    }

    /// Returns the number of users in the tree of a hot post's likes, or, without any, of the newest ones: a post with
    /// few likes that has had many keeps a root without members. `None` if the likes are unreadable.
    async fn number_in_tree(&self, post: PostId) -> Result<Option<u64>, Error> {
        let (mut number, mut open) = (0, vec![Shard::ROOT]);
        while !open.is_empty() {
            let shards: Vec<Shard> = open.drain(open.len().saturating_sub(SHARDS)..).collect();
            let form = like::form_of_shards(self.keys(), post, &shards, false);
            if form.send("check: shards of likes", self.store()).await?.wrong > 0 {
                return Ok(None);
            }
            let (users, below) = self.likers_in(post, &shards).await?;
            number += users.len() as u64;
            open.extend(below);
        }
        if number == 0 {
            let newest = like::numbered(self.keys(), post).send("check: newest likes", self.store()).await?;
            number = newest.len() as u64;
        }
        Ok(Some(number))
    }

    /// Returns those of these hot posts whose number of likes is not the one that is stored with the likes, or not that
    /// of the users who like them.
    pub(super) async fn with_miscounted_likes(&self, posts: &[&Post]) -> Result<HashSet<PostId>, Error> {
        let ids: Vec<PostId> = posts.iter().map(|post| post.id).collect();
        let forms = self.forms_of_likes(&ids, false).await?;
        let readable = posts.iter().zip(forms).filter(|(_, form)| form.wrong == 0);
        let readable: Vec<(&&Post, bool)> = readable.map(|(post, form)| (post, form.has_tree())).collect();
        let stored = readable.iter().map(|(post, _)| like::number(self.keys(), post.id));
        let stored = self.send_all("check: numbers of likes", stored).await?;
        let mut miscounted = HashSet::new();
        for ((post, has_tree), stored) in readable.into_iter().zip(stored) {
            let mut is_right = post.details.counts.likes() == stored;
            if is_right && has_tree {
                is_right = self.number_in_tree(post.id).await?.is_none_or(|number| number == stored);
            }
            miscounted.extend((!is_right).then_some(post.id));
        }
        Ok(miscounted)
    }

    /// Returns the number of these posts that are archived, and of whose likes Redis still has shards, because a mover
    /// was interrupted. With `repair`, deletes the shards.
    async fn check_shards_left(&self, posts: &[PostId], repair: bool) -> Result<u64, Error> {
        let mut left = posts.to_vec();
        // The second time, no mover is about to delete them.
        for _ in 0..2 {
            let forms =
                left.iter().map(|post| like::form_of_shards(self.keys(), *post, &[Shard::ROOT], repair));
            let forms = self.send_all("check: shards left", forms).await?;
            let mut forms = forms.into_iter();
            left.retain(|_| forms.next().is_some_and(|form| form.has_others() || form.wrong > 0));
            if left.is_empty() {
                return Ok(0);
            }
            let states = self.states(&left).await?;
            left.retain(|post| states[post].live_in(Storage::Archive).is_some());
        }
        if repair {
            self.sweep_likes(left.iter().copied()).await?;
        }
        Ok(left.len() as u64)
    }

    /// Checks these likes, which were found on one side. With `repair`, repairs faults.
    pub(super) async fn check_likings(&self, likings: &[Liking], repair: bool) -> Result<Findings, Error> {
        let mut findings = Findings::default();
        for likings in likings.chunks(ENTRIES_AT_A_TIME) {
            findings += self.check_some_likings(likings, repair).await?;
        }
        Ok(findings)
    }

    async fn check_some_likings(&self, likings: &[Liking], repair: bool) -> Result<Findings, Error> {
        let suspects = self.torn_likings(likings).await?;
        if suspects.is_empty() {
            return Ok(Findings::default());
        }
        let mut in_progress = self.in_progress().await?;
        let mut torn = self.torn_likings(&suspects).await?;
        in_progress.extend(self.in_progress().await?);
        torn.retain(|liking| !in_progress.has_liking(*liking));
        let findings = Findings::from([(Finding::TornLikes, torn.len() as u64)]);
        if repair {
            self.make_likes_agree(torn).await?;
        }
        Ok(findings)
    }

    /// Returns those of these likes whose mirror differs from their truth. The post exists.
    async fn torn_likings(&self, likings: &[Liking]) -> Result<Vec<Liking>, Error> {
        let (truths, mirrors) = (self.like_truths(likings).await?, self.like_mirrors(likings).await?);
        let mut torn = Vec::new();
        for ((liking, truth), mirror) in likings.iter().zip(truths).zip(mirrors) {
            let differs = truth.zip(mirror).is_some_and(|(truth, mirror)| truth != mirror);
            torn.extend(differs.then_some(*liking));
        }
        Ok(torn)
    }

    /// Returns for each of these likes true if the user likes the post; `None` if that is unreadable.
    async fn like_truths(&self, likings: &[Liking]) -> Result<Vec<Option<bool>>, Error> {
        let mut batch = Batch::new("check: truths of likes");
        let read = |liking: &Liking| batch.push(like::read(self.keys(), liking.user, liking.post));
        let tickets: Vec<_> = likings.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let of_each = likings.iter().zip(tickets);
        of_each
            .map(|(liking, ticket)| Ok(replies.take_readable(ticket, "likes", liking.user.get())?))
            .collect()
    }

    /// Returns for each of these likes true if Redis has it among those of the post; `None` if they are unreadable.
    async fn hot_mirrors(&self, likings: &[Liking]) -> Result<Vec<Option<bool>>, Error> {
        let mut batch = Batch::new("check: likes");
        let read =
            |liking: &Liking| batch.push(compact::contains(&self.keys().likes(liking.post), &[liking.user]));
        let tickets: Vec<_> = likings.iter().map(read).collect();
        let mut replies = batch.send(self.store()).await?;
        let mut mirrors = Vec::with_capacity(likings.len());
        for (liking, ticket) in likings.iter().zip(tickets) {
            let contains = replies.take_readable(ticket, "likes", liking.post.get())?;
            mirrors.push(contains.map(|contains| contains[0]));
        }
        Ok(mirrors)
    }

    /// Returns for each of these likes true if the post has it; `None` if the post or its likes are unreadable, or if
    /// it does not exist.
    async fn like_mirrors(&self, likings: &[Liking]) -> Result<Vec<Option<bool>>, Error> {
        let mut posts: Vec<PostId> = likings.iter().map(|liking| liking.post).collect();
        posts.sort_unstable();
        posts.dedup();
        // Before the records: when a record is dropped, its likes are already in the archive.
        let hot = self.hot_mirrors(likings).await?;
        let states = self.states(&posts).await?;
        let mut archived: HashMap<UserId, Vec<PostId>> = HashMap::new();
        for Liking { user, post } in likings {
            if states[post].live_in(Storage::Archive).is_some() {
                archived.entry(*user).or_default().push(*post);
            }
        }
        let mut cold = HashSet::new();
        for (user, posts) in archived {
            let liked = self.archive().await?.liked_among(user, &posts).await?;
            cold.extend(liked.into_iter().map(|post| Liking { user, post }));
        }
        let mut mirrors = Vec::with_capacity(likings.len());
        for (liking, hot) in likings.iter().zip(hot) {
            mirrors.push(match &states[&liking.post] {
                State::Live(Storage::Redis, _) => hot,
                State::Live(Storage::Archive, _) => Some(cold.contains(liking)),
                // A deleted post stays among those that its users like: readers leave it out.
                State::Deleted { .. } | State::Gone | State::Unreadable => None,
            });
        }
        Ok(mirrors)
    }
}
