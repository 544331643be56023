//! The likes of a stage: what must hold at every moment, and once all calls have ended.

use std::collections::{BTreeMap, BTreeSet};

use fanfold::app::archive::{Listed, StoredPost};
use fanfold::app::post::read::PostRecords;
use fanfold::app::read::{Load as _, Shared};
use fanfold::archive::like::LikePage;
use fanfold::model::account::Standing;
use fanfold::model::id::PostId;
use fanfold::model::page::{Direction, Window};
use proptest::prelude::*;

use crate::harness::stage::{Stage, USERS};

impl Stage {
    /// Returns the posts that a user likes: the truth.
    pub(crate) fn liked(&self, user: u64) -> BTreeSet<u64> {
        self.world.redis.raw(&["ZRANGE", &format!("ff:{{u{user}}}:liked"), "0", "-1"])
    }

    /// Returns the users who like a post, as Redis has them.
    fn hot_likes(&self, post: u64) -> BTreeSet<u64> {
        self.world.redis.raw(&["ZRANGE", &format!("ff:{{p{post}}}:likes"), "0", "-1"])
    }

    /// Returns the users who like a post, as the archive has them.
    async fn cold_likes(&self, post: u64) -> BTreeSet<u64> {
        let window = Window { direction: Direction::Forward, size: 99, from: None };
        let page = LikePage { post: PostId::new(post).unwrap(), window };
        let found = self.archive.likes(&[page]).await.unwrap().pop().unwrap();
        found.entries.iter().map(|like| like.member.get()).collect()
    }

    /// Returns the number of likes of each post that exists, as readers see it.
    async fn like_counts(&self) -> BTreeMap<u64, u64> {
        let posts = self.records().await;
        posts.into_iter().map(|(id, post)| (id, post.details.counts.likes())).collect()
    }

    /// Checks that each post that exists has as many likes now as are counted.
    pub(crate) async fn check_likes_now(&self) -> Result<(), String> {
        for (post, count) in self.like_counts().await {
            let likes = if self.is_hot(post) { self.hot_likes(post) } else { self.cold_likes(post).await };
            if likes.len() as u64 != count {
                return Err(format!("{count} likes of {post} are counted, and there are {likes:?}"));
            }
        }
        Ok(())
    }

    fn is_hot(&self, post: u64) -> bool {
        self.world.redis.raw(&["HEXISTS", &format!("ff:{{p{post}}}:post"), "content"])
    }

    /// Asserts that each post has the likes of the active users who like it, in one place, and that no others are left.
    pub(super) async fn check_likes(&self, listed: &BTreeMap<u64, u64>) -> Result<(), TestCaseError> {
        let ids: Vec<PostId> = listed.keys().map(|&post| PostId::new(post).unwrap()).collect();
        let read =
            PostRecords { posts: Shared(ids.iter().copied().map(Listed::Id).collect()), needs_archive: true };
        let found = self.app.load(read).await.unwrap();
        let posts: BTreeMap<u64, u64> = found
            .iter()
            .flatten()
            .map(StoredPost::unchecked)
            .map(|post| (post.id.get(), post.details.counts.likes()))
            .collect();
        let truths: BTreeMap<u64, BTreeSet<u64>> = (1..=USERS).map(|user| (user, self.liked(user))).collect();
        let last = listed.keys().next_back().copied().unwrap_or(0);
        for post in 1..=last + 9 {
            let (hot, cold) = (self.hot_likes(post), self.cold_likes(post).await);
            let Some(count) = posts.get(&post) else {
                prop_assert!(hot.is_empty() && cold.is_empty(), "likes of {}: {:?} {:?}", post, hot, cold);
                continue;
            };
            let likes =
                |user: &u64| truths[user].contains(&post) && self.standing(*user) != Standing::Inactive;
            let expected: BTreeSet<u64> = (1..=USERS).filter(likes).collect();
            let is_hot = self.is_hot(post);
            let (likes, other) = if is_hot { (hot, cold) } else { (cold, hot) };
            prop_assert_eq!(&likes, &expected, "the likes of {}, hot: {}", post, is_hot);
            prop_assert!(other.is_empty(), "the likes of {} are also {:?}", post, other);
            prop_assert_eq!(*count, likes.len() as u64, "the number of likes of {}", post);
        }
        Ok(())
    }
}
