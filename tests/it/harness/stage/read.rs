//! What is read on a stage: the posts that exist, what users should see by the naive model, and what they see.

use std::collections::HashMap;
use std::sync::Arc;

use fanfold::app::App;
use fanfold::app::archive::{Listed, StoredPost};
use fanfold::app::error::Error;
use fanfold::app::post::read::{PostCount, PostRecords};
use fanfold::app::read::{Load as _, Many, Shared};
use fanfold::app::timeline::entry::Replies;
use fanfold::archive::range::Range;
use fanfold::model::clock::Period;
use fanfold::model::id::PostId;
use fanfold::model::page::Direction;
use fanfold::model::post::{Post, Visibility};

use crate::harness::stage::{Stage, USERS, id};
use crate::harness::walk::walk;

impl Stage {
    /// Returns the posts of an author that were confirmed, and whose deletion was not requested.
    pub(crate) fn must_exist(&self, author: u64) -> Vec<PostId> {
        let results = self.results.lock().unwrap();
        let there = results
            .published
            .iter()
            .filter(|(user, _, post)| *user == author && !results.deletions_requested.contains(post));
        there.map(|(_, _, post)| *post).collect()
    }

    /// Returns the posts in an author's list and those that the archive has, newest first.
    pub(crate) async fn posts(&self, user: u64) -> Vec<u64> {
        let raw = &self.world.redis;
        let mut posts: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{user}}}:posts"), "0", "-1"]);
        for post in self.archived(user).await {
            let is_deleted: bool = raw.raw(&["HEXISTS", &format!("ff:{{p{post}}}:post"), "deleted"]);
            if !is_deleted {
                posts.push(post);
            }
        }
        posts.sort_unstable();
        posts.dedup();
        posts.reverse();
        posts
    }

    /// Returns the reported numbers of an author's posts in each period: of all, or only of public ones.
    pub(crate) async fn counts(&self, author: u64, counted: &[(Period, bool)]) -> Result<Vec<usize>, Error> {
        let count = |&(period, only_public): &_| PostCount { author: id(author), period, only_public };
        let counts = self.app.load(Many(counted.iter().map(count).collect())).await?;
        Ok(counts.iter().map(|count| *count as usize).collect())
    }

    /// Returns the visibility of each of an author's posts that have been erased and are still in the list.
    pub(crate) fn half_deleted(&self, author: u64) -> Vec<Visibility> {
        let raw = &self.world.redis;
        let posts: Vec<u64> = raw.raw(&["LRANGE", &format!("ff:{{u{author}}}:posts"), "0", "-1"]);
        let erased = |post: u64| {
            let record = format!("ff:{{p{post}}}:post");
            let word: Option<String> = raw.raw(&["HGET", &record, "visibility"]);
            raw.raw::<bool>(&["HEXISTS", &record, "deleted"])
                .then(|| Visibility::of_word(word.as_deref()).unwrap())
        };
        posts.into_iter().filter_map(erased).collect()
    }

    /// Returns the posts of an author that the archive has.
    pub(super) async fn archived(&self, user: u64) -> Vec<u64> {
        let all = Range {
            author: id(user),
            direction: Direction::Forward,
            above: 0,
            below: u64::MAX,
            limit: 999,
            period: Period::ALL,
            only_public: false,
        };
        let found = self.archive.ids_of(&[all]).await.unwrap().pop().unwrap();
        found.into_iter().map(PostId::get).collect()
    }

    /// Returns all posts, by id.
    pub(crate) async fn records(&self) -> HashMap<u64, Arc<Post>> {
        let mut all = Vec::new();
        for author in 1..=USERS {
            all.extend(self.posts(author).await.into_iter().filter_map(PostId::new).map(Listed::Id));
        }
        let read = PostRecords { posts: Shared(all.into()), needs_archive: true };
        let posts = self.app.load(read).await.unwrap();
        posts
            .iter()
            .flatten()
            .map(StoredPost::unchecked)
            .map(|post| (post.id.get(), Arc::clone(post)))
            .collect()
    }

    /// Returns the entries that a user should see by the naive model, in a timeline with these replies: each with the post
    /// that it shows.
    pub(crate) fn expected_entries(
        &self,
        posts: &HashMap<u64, Arc<Post>>,
        user: u64,
        replies: Replies,
    ) -> Vec<(u64, u64)> {
        let following: Vec<u64> =
            self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{user}}}:following"), "0", "-1"]);
        let muted = self.muted(user);
        let is_stored = |post: &&Arc<Post>| {
            let author = post.author.get();
            author == user || (following.contains(&author) && !muted.contains(&author))
        };
        let mut stored: Vec<u64> = posts.values().filter(is_stored).map(|post| post.id.get()).collect();
        stored.sort_unstable_by(|one, other| other.cmp(one));
        let entry = |id: u64| {
            let post = posts.get(&id)?;
            let (author, references) = (post.author.get(), &post.details.references);
            let author_of = |post: PostId| posts.get(&post.get()).map(|post| post.author.get());
            if let Some(original) = references.original {
                let of = author_of(original)?;
                let is_shown =
                    author != user && of != user && !following.contains(&of) && !muted.contains(&of);
                return is_shown.then_some((id, original.get()));
            }
            let Some(reply) = &references.reply else { return Some((id, id)) };
            let to = author_of(reply.parent());
            let is_shown = author == user
                || to == Some(user)
                || to == Some(author)
                || match replies {
                    Replies::All => true,
                    Replies::Followed => to.is_some_and(|to| following.contains(&to)),
                    Replies::None => false,
                };
            is_shown.then_some((id, id))
        };
        stored.into_iter().filter_map(entry).collect()
    }

    /// Returns the ids of the posts that a timeline contains by the naive model: all posts of the user's followees whom they
    /// do not mute, and their own.
    pub(crate) async fn expected(&self, user: u64) -> Vec<u64> {
        let following: Vec<u64> =
            self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{user}}}:following"), "0", "-1"]);
        let muted = self.muted(user);
        let mut posts = self.posts(user).await;
        for followee in following.into_iter().filter(|followee| !muted.contains(followee)) {
            posts.extend(self.posts(followee).await);
        }
        posts.sort_unstable();
        posts.reverse();
        posts
    }

    /// Returns what a user sees, paging forward and backward.
    pub(crate) async fn seen(&self, app: &App, user: u64, size: usize) -> (Vec<u64>, Vec<u64>) {
        let viewer = &self.viewers[&user];
        // Requests authenticate; the calls of the stage share a viewer.
        app.refresh_exclusions(viewer).await.unwrap();
        let forward = walk(app, viewer, Direction::Forward, size).await;
        let backward = walk(app, viewer, Direction::Backward, size).await;
        (forward, backward)
    }
}
