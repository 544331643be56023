//! The invariants of a stage: what must hold at every moment, and what must hold once all calls have ended.

use std::cmp::Reverse;
use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;

use fanfold::app::App;
use fanfold::app::archive::{Listed, StoredPost};
use fanfold::app::check::Findings;
use fanfold::app::error::Error;
use fanfold::app::post::read::PostRecords;
use fanfold::app::read::{Load as _, Shared};
use fanfold::app::timeline::entry::Replies;
use fanfold::model::attachment::ReferrerKind;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::page::Direction;
use fanfold::model::post::Post;
use fanfold::model::referrer::{EntryKind, Referral, ReferrerEntry};
use proptest::prelude::*;

use crate::harness::check::check_archive;
use crate::harness::edits::read_versions;
use crate::harness::stage::{PAGE, Stage, USERS, id};
use crate::harness::walk::{read_posts, walk_records, walk_with};

const ALL_REPLIES: [Replies; 3] = [Replies::Followed, Replies::All, Replies::None];

/// Checks the posts of all users.
pub(crate) async fn check_posts(app: &App, repair: bool) -> Result<Findings, Error> {
    let users: Vec<UserId> = (1..=USERS).map(id).collect();
    let mut findings = app.check_posts(&users, repair).await?;
    findings += check_archive(app, repair).await?;
    Ok(findings)
}

/// Returns the posts on the pages of a timeline with these entries, read from one end: on each page, a post is in the place
/// of its newest entry.
fn folded(entries: &[(u64, u64)], direction: Direction) -> Vec<u64> {
    let mut left: Vec<(u64, u64)> = entries.to_vec();
    if direction == Direction::Backward {
        left.reverse();
    }
    let mut pages: Vec<Vec<(u64, u64)>> = vec![Vec::new()];
    for (id, post) in left {
        let page = pages.last().unwrap();
        let posts: BTreeSet<u64> = page.iter().map(|(_, post)| *post).collect();
        if posts.len() == PAGE {
            pages.push(Vec::new());
        }
        pages.last_mut().unwrap().push((id, post));
    }
    let mut shown = Vec::new();
    for mut page in pages {
        page.sort_unstable_by(|one, other| other.cmp(one));
        let mut posts: Vec<u64> = Vec::new();
        for (_, post) in page {
            if !posts.contains(&post) {
                posts.push(post);
            }
        }
        match direction {
            Direction::Forward => shown.extend(posts),
            Direction::Backward => drop(shown.splice(..0, posts)),
        }
    }
    shown
}

impl Stage {
    /// Checks the versions of all posts that readers find now. Reads that fail while the archive is unavailable are not
    /// checked.
    pub(crate) async fn check_versions(&self) -> Result<(), String> {
        let posts = self.results.lock().unwrap().edits.posts();
        for post in posts {
            let Ok(found) = read_versions(&self.app, post).await else { continue };
            let mut results = self.results.lock().unwrap();
            match found {
                Some(_) if results.deleted.contains(&post) => {
                    return Err(format!("post {post} was deleted, and has {found:?}"));
                }
                Some(found) => results.edits.check(post, &found, true)?,
                None if results.deletions_requested.contains(&post) => {}
                None => return Err(format!("post {post} is missing")),
            }
        }
        Ok(())
    }

    /// Checks that the author's list has the current text of each post.
    pub(crate) async fn check_listed_texts(&self, author: u64) -> Result<(), String> {
        let Ok(listed) = walk_records(&self.app, author, Direction::Forward, PAGE).await else {
            return Ok(());
        };
        let ids: Vec<PostId> = listed.iter().map(|post| post.id).collect();
        for (post, current) in listed.iter().zip(read_posts(&self.app, &ids).await) {
            let is_being_deleted = self.results.lock().unwrap().deletions_requested.contains(&post.id);
            if current.as_ref() != Some(&post.content) && !(current.is_none() && is_being_deleted) {
                return Err(format!("{} is listed as {:?}, and is {current:?}", post.id, post.content));
            }
        }
        Ok(())
    }

    /// Asserts that the earlier versions of each post are in one place, and that those of no other posts are left.
    async fn check_edits(&self, listed: &BTreeMap<u64, u64>) -> Result<(), TestCaseError> {
        self.check_versions().await.map_err(TestCaseError::fail)?;
        let raw = &self.world.redis;
        let last = listed.keys().next_back().copied().unwrap_or(0);
        let ids: Vec<PostId> = (1..=last + 9).map(|post| PostId::new(post).unwrap()).collect();
        let read =
            PostRecords { posts: Shared(ids.iter().copied().map(Listed::Id).collect()), needs_archive: true };
        let found = self.app.load(read).await.unwrap();
        let archived = self.archive.versions(&ids).await.unwrap();
        for (post, found) in ids.iter().zip(found.iter()) {
            let is_hot = raw.raw::<bool>(&["HEXISTS", &format!("ff:{{p{post}}}:post"), "content"]);
            let hot: usize = raw.raw(&["LLEN", &format!("ff:{{p{post}}}:edits")]);
            let cold = archived.get(post).map_or(0, Vec::len);
            let edits = found.as_ref().map_or(0, |post| post.unchecked().details.edition as usize);
            let expected = if is_hot { (edits, 0) } else { (0, edits) };
            prop_assert_eq!((hot, cold), expected, "the versions of {}, hot: {}", post, is_hot);
        }
        Ok(())
    }

    /// Asserts that all users see what they should see.
    pub(crate) async fn check_timelines(&self, app: &App) -> Result<(), TestCaseError> {
        let posts = self.records().await;
        // Without replies, all timelines of a user are the same.
        let has_replies = posts.values().any(|post| post.details.references.reply.is_some());
        let kinds = if has_replies { &ALL_REPLIES[..] } else { &ALL_REPLIES[..1] };
        for (user, replies) in (1..=USERS).flat_map(|user| kinds.iter().map(move |replies| (user, *replies)))
        {
            let viewer = &self.viewers[&user];
            // Requests authenticate; the calls of the stage share a viewer.
            app.refresh_exclusions(viewer).await.unwrap();
            let entries = self.expected_entries(&posts, user, replies);
            for direction in [Direction::Forward, Direction::Backward] {
                let seen = walk_with(app, viewer, (direction, PAGE), replies).await;
                let expected = folded(&entries, direction);
                prop_assert_eq!(
                    seen,
                    expected,
                    "what {} sees, {:?}, {:?}: {:?}",
                    user,
                    replies,
                    direction,
                    entries
                );
            }
        }
        Ok(())
    }

    /// Asserts that each post has the replies, quotes and reposts that refer to it, each in the list that it and its author's
    /// account belong to, with the number of listed ones, and that no other lists are left; and that each user has one repost
    /// of a post at most, and only of posts that exist.
    async fn check_referrals(&self, listed: &BTreeMap<u64, u64>) -> Result<(), TestCaseError> {
        let raw = &self.world.redis;
        let ids: Vec<PostId> = listed.keys().map(|&post| PostId::new(post).unwrap()).collect();
        let read =
            PostRecords { posts: Shared(ids.iter().copied().map(Listed::Id).collect()), needs_archive: true };
        let found = self.app.load(read).await.unwrap();
        let posts: Vec<Arc<Post>> = found.iter().flatten().map(StoredPost::unchecked).cloned().collect();
        let referrals: Vec<(Referral, EntryKind)> = posts
            .iter()
            .flat_map(|post| {
                let kind = EntryKind::of(post.visibility.is_public(), self.standing(post.author.get()));
                post.details.references.referrals(post.id, post.author).map(move |referral| (referral, kind))
            })
            .collect();
        let last = listed.keys().next_back().copied().unwrap_or(0);
        let targets = (1..=last + 9).filter_map(PostId::new);
        let lists: Vec<_> = targets.flat_map(|target| ReferrerKind::ALL.map(|kind| (target, kind))).collect();
        let archived = self.cold_entries(&lists).await;
        let stored: BTreeSet<String> = raw.raw(&["KEYS", "ff:{p*}:*"]);
        for ((id, kind), cold) in lists.into_iter().zip(archived) {
            let (target, post) = (id.get(), posts.iter().find(|post| post.id == id));
            let expected = EntryKind::ALL.map(|entries| {
                let mut expected: Vec<ReferrerEntry> = referrals
                    .iter()
                    .filter(|(referral, _)| (referral.target, referral.kind) == (id, kind) && post.is_some())
                    .filter(|(_, kind)| *kind == entries)
                    .map(|(referral, kind)| ReferrerEntry::of(referral, *kind))
                    .collect();
                expected.sort_unstable_by_key(|entry| Reverse(entry.post));
                expected.iter().map(ToString::to_string).collect::<Vec<_>>()
            });
            let hot = self.hot_entries(id, kind, Some(&stored));
            let record = format!("ff:{{p{target}}}:post");
            let is_hot = stored.contains(&record) && raw.raw::<bool>(&["HEXISTS", &record, "content"]);
            let (lists, others) = if is_hot { (hot, cold) } else { (cold, hot) };
            prop_assert_eq!(&lists, &expected, "{:?} of {}, hot: {}", kind, target, is_hot);
            let is_left = others.iter().flatten().next().is_some();
            prop_assert!(!is_left, "{:?} of {} are also {:?}", kind, target, others);
            let Some(post) = post else { continue };
            let count = post.details.counts.of(kind);
            prop_assert_eq!(count, lists[0].len() as u64, "the number of {:?} of {}", kind, target);
        }
        self.check_reposts(&posts)
    }

    /// Asserts that the user's reposts of existing posts exist, as they do once a repost has been confirmed.
    pub(crate) async fn check_confirmed_reposts(&self, user: u64) {
        for (original, repost) in self.noted_reposts(user) {
            let ids = [original, repost].map(|post| Listed::Id(PostId::new(post).unwrap()));
            let read = PostRecords { posts: Shared(Arc::new(ids)), needs_archive: true };
            let found = self.app.load(read).await.unwrap();
            assert!(found[0].is_none() || found[1].is_some(), "the repost {repost} of {original} is missing");
        }
    }

    /// Returns a user's repost of each post that the user has reposted.
    fn noted_reposts(&self, user: u64) -> BTreeMap<u64, u64> {
        self.world.redis.raw(&["HGETALL", &format!("ff:{{u{user}}}:reposted")])
    }

    fn check_reposts(&self, posts: &[Arc<Post>]) -> Result<(), TestCaseError> {
        let mut reposts = BTreeMap::new();
        for post in posts {
            let Some(original) = post.details.references.original else { continue };
            let exists = posts.iter().any(|other| other.id == original);
            prop_assert!(exists, "{} is a repost of {}, which is deleted", post.id, original);
            let other = reposts.insert((post.author.get(), original.get()), post.id.get());
            prop_assert!(other.is_none(), "{} has reposted {} twice", post.author, original);
        }
        let mut noted = BTreeMap::new();
        for user in 1..=USERS {
            noted.extend(
                self.noted_reposts(user).into_iter().map(|(original, repost)| ((user, original), repost)),
            );
        }
        prop_assert_eq!(noted, reposts);
        Ok(())
    }

    /// Asserts that the stored data matches the results of callers, and that nothing is left over.
    pub(crate) async fn check_store(&self) -> Result<(), TestCaseError> {
        let raw = &self.world.redis;
        let mut listed = BTreeMap::new();
        for user in 1..=USERS {
            let hot: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{user}}}:posts"), "0", "-1"]);
            prop_assert!(hot.is_sorted_by(|one, next| one > next), "the posts of {} are {:?}", user, hot);
            let cold = self.archived(user).await;
            let counted: Option<i64> = raw.raw(&["HGET", &format!("ff:{{u{user}}}:cold"), "count"]);
            prop_assert_eq!(
                counted.unwrap_or(0),
                cold.len() as i64,
                "{} has {:?} in the archive",
                user,
                cold
            );
            prop_assert!(!cold.iter().any(|post| hot.contains(post)), "{:?} {:?}", hot, cold);
            let posts = self.posts(user).await;
            let recent: Vec<u64> = raw.raw(&["ZREVRANGE", &format!("ff:{{u{user}}}:recent"), "0", "-1"]);
            prop_assert_eq!(&recent[..], &posts[..posts.len().min(20)], "the newest posts of {}", user);
            listed.extend(posts.into_iter().map(|post| (post, user)));
        }
        self.check_referrals(&listed).await?;
        self.check_edits(&listed).await?;
        self.check_likes(&listed).await?;
        let ids: Vec<PostId> = listed.keys().map(|&post| PostId::new(post).unwrap()).collect();
        let contents = read_posts(&self.app, &ids).await;
        let results = self.results.lock().unwrap();
        prop_assert!(results.wrong.is_empty(), "{:?}", results.wrong);
        for (user, key, post) in &results.published {
            let is_there = listed.get(&post.get()) == Some(user);
            prop_assert!(
                is_there || results.deletions_requested.contains(post),
                "{} published {}",
                user,
                post
            );
            let same =
                results.published.iter().filter(|(other, other_key, _)| (other, other_key) == (user, key));
            prop_assert!(
                key.is_none() || same.clone().all(|(_, _, other)| other == post),
                "{} under one key",
                post
            );
        }
        for post in &results.deleted {
            prop_assert!(!listed.contains_key(&post.get()), "{} was deleted", post);
        }
        // Under one key there is one post, confirmed or not.
        let mut keyed = BTreeSet::new();
        for (post, content) in ids.iter().zip(contents) {
            prop_assert!(content.is_some(), "{} has no content", post);
            if let Some(content) = content.filter(|content| content.starts_with("keyed")) {
                prop_assert!(keyed.insert((listed[&post.get()], content)), "two posts under one key");
            }
        }
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{p*}:post"]) {
            let post: u64 = key.trim_start_matches("ff:{p").trim_end_matches("}:post").parse().unwrap();
            if raw.raw::<bool>(&["HEXISTS", &key, "archived"]) {
                continue;
            }
            let content: Option<String> = raw.raw(&["HGET", &key, "content"]);
            prop_assert_eq!(content.is_some(), listed.contains_key(&post), "the record of {}", post);
            let delivery: Option<String> = raw.raw(&["HGET", &key, "delivery"]);
            let is_open = delivery.is_some_and(|delivery| delivery.starts_with("pushed"));
            prop_assert!(!is_open || !listed.contains_key(&post), "{} is delivered", post);
        }
        for key in raw.raw::<Vec<String>>(&["KEYS", "ff:{f*}:fanout"]) {
            prop_assert_eq!(raw.raw::<u64>(&["XLEN", &key]), 0, "a job is left");
        }
        let left =
            ["ff:*:intents", "ff:{g}:publishing", "ff:*:progress", "ff:*:failed", "ff:*:fanout:[orht]*"];
        let unmoved = ["ff:{a}:pending", "ff:{a}:mov*:*", "ff:{a}:unmovable", "ff:*:gone"];
        for pattern in left.into_iter().chain(unmoved) {
            let left: Vec<String> = raw.raw(&["KEYS", pattern]);
            prop_assert!(left.is_empty(), "{:?} is left", left);
        }
        Ok(())
    }
}
