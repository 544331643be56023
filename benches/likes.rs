//! Measures likes in large numbers: what a like of a much-liked post costs Redis, how long a mover takes for a post with
//! many likes, and how long the likes of an account take to go and to come back with it.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, with a few likes. The archive is a SQLite file,
//! or the empty database at `FANFOLD_ARCHIVE_URL`.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod ground;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/usage.rs"]
mod usage;

use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::import::ImportReaction;
use fanfold::app::post::NewPost;
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::details::References;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::moderation::ActionNote;
use fanfold::model::moderator::Moderator;
use fanfold::model::post::{Content, Visibility};
use fanfold::store::like;
use fanfold::store::post::{self, Record};
use futures::{StreamExt as _, stream};
use redis::{Connection, FromRedisValue, cmd};

use crate::ground::{Redis, is_measured};
use crate::people::users;
use crate::usage::used;

/// The numbers of likes.
struct Sizes {
    /// Likes of one post that are made one by one, and of one account.
    many: usize,
    /// Likes of posts that are moved. A post with more than the greatest number of these stays in Redis.
    moved: &'static [usize],
    /// Likes of an account that is erased.
    erased: usize,
}

/// Number of likes that are made concurrently.
const AT_ONCE: usize = 32;
/// Likes and posts written by one call.
const CHUNK: usize = 5_000;
/// Number of likes a minute for which the share of a core is printed.
const PER_MINUTE: f64 = 10_000.0;

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        Sizes { many: 10_000, moved: &[10_000, 50_000, 50_001], erased: 5_000 }
    } else {
        Sizes { many: 20, moved: &[10, 200], erased: 6 }
    };
    let redis = Redis::start(None);
    let app = redis.app(&["--post-hot-limit", "1", "--post-reactions-per-user", "1000000"]).await;
    let most = sizes.moved.iter().copied().max().unwrap().max(sizes.many);
    let people = users(&app, most + 5).await;
    let mut bench = Bench { connection: redis.client().get_connection().unwrap(), app };
    bench.like_one_by_one(people[0], &people[5..5 + sizes.many]).await;
    for &count in sizes.moved {
        bench.move_post(people[1], &people[5..5 + count]).await;
    }
    let posts = bench.publish(people[2], sizes.many).await;
    bench.suspend(people[3], &posts).await;
    bench.erase(people[4], &posts[..sizes.erased]).await;
}

struct Bench {
    app: App,
    connection: Connection,
}

impl Bench {
    fn ask<T: FromRedisValue>(&mut self, words: &[&str]) -> T {
        let mut command = cmd(words[0]);
        command.arg(&words[1..]).query(&mut self.connection).unwrap()
    }

    async fn publish(&self, author: UserId, count: usize) -> Vec<PostId> {
        let post = NewPost {
            references: References::default(),
            author,
            content: Content::parse("a short post").unwrap(),
            platform: None,
            visibility: Visibility::Public,
            created_at: SystemClock.now(),
        };
        let mut ids = Vec::with_capacity(count);
        while ids.len() < count {
            let posts = vec![post.clone(); CHUNK.min(count - ids.len())];
            ids.extend(self.app.import_posts(&posts).await.unwrap());
        }
        ids
    }

    async fn import(&self, likes: impl Iterator<Item = (UserId, PostId)>) {
        let at = SystemClock.now();
        let likes: Vec<_> = likes.map(|(user, post)| ImportReaction { user, post, at }).collect();
        for likes in likes.chunks(CHUNK) {
            self.app.import_likes(likes).await.unwrap();
        }
    }

    /// Returns the number of likes of a post in Redis; `None` if it has no record.
    async fn hot_likes(&self, id: PostId) -> Option<u64> {
        let (keys, store) = (self.app.store().keys(), self.app.store());
        match post::read(keys, id).send("bench", store).await.unwrap() {
            Record::Live(_) => Some(like::number(keys, id).send("bench", store).await.unwrap()),
            _ => None,
        }
    }

    /// Lets users like a post, and take that back.
    async fn like_one_by_one(&mut self, author: UserId, likers: &[UserId]) {
        let post = self.publish(author, 1).await[0];
        for (is_liked, what) in [(true, "likes of one post"), (false, "likes taken back")] {
            let (began, before) = (Instant::now(), used(&mut self.connection));
            let app = &self.app;
            let change = |user: &UserId| {
                let user = *user;
                async move {
                    let viewer = app.operator_as(user).await.unwrap();
                    let changed = if is_liked {
                        app.like(&viewer, post).await
                    } else {
                        app.unlike(&viewer, post).await
                    };
                    changed.unwrap();
                }
            };
            let mut changes = stream::iter(likers.iter().map(change)).buffer_unordered(AT_ONCE);
            while changes.next().await.is_some() {}
            drop(changes);
            #[expect(clippy::cast_precision_loss, reason = "for a person to read")]
            let each = (used(&mut self.connection) - before) / likers.len() as f64;
            println!(
                "{} {what} in {:.1} s, {:.0} µs of Redis each: {:.1} % of a core at {PER_MINUTE} a minute",
                likers.len(),
                began.elapsed().as_secs_f64(),
                each * 1e6,
                each * PER_MINUTE / 60.0 * 100.0,
            );
            let expected = if is_liked { likers.len() as u64 } else { 0 };
            assert_eq!(self.hot_likes(post).await, Some(expected));
        }
    }

    /// Moves a post with many likes to the archive.
    async fn move_post(&self, author: UserId, likers: &[UserId]) {
        let post = self.publish(author, 1).await[0];
        self.import(likers.iter().map(|liker| (*liker, post))).await;
        // Only the newest post stays hot.
        self.publish(author, 1).await;
        let began = Instant::now();
        self.app.mover().drain(Duration::ZERO).await.unwrap();
        let took = began.elapsed().as_secs_f64();
        match self.hot_likes(post).await {
            None => println!("a post with {} likes was archived in {took:.2} s", likers.len()),
            Some(likes) => println!("a post with {likes} likes stays in Redis ({took:.2} s)"),
        }
    }

    /// Makes all jobs of accounts due, and does them.
    async fn work(&mut self) {
        while self.ask::<u64>(&["ZCARD", "ff:{g}:account:jobs"]) > 0 {
            for job in self.ask::<Vec<String>>(&["ZRANGE", "ff:{g}:account:jobs", "0", "-1"]) {
                self.ask::<()>(&["ZADD", "ff:{g}:account:jobs", "1", &job]);
            }
            self.app.work_on_accounts().await.unwrap();
        }
    }

    /// Suspends a user who likes these hot posts, and lifts that once they are archived.
    async fn suspend(&mut self, user: UserId, posts: &[PostId]) {
        self.import(posts.iter().map(|post| (user, *post))).await;
        let by = &Moderator::Operator;
        let began = Instant::now();
        self.app.suspend_user(by, user, ActionNote::default()).await.unwrap();
        self.work().await;
        println!("{} likes of hot posts went with their account in {:.1} s", posts.len(), seconds(began));
        assert_eq!(self.hot_likes(posts[0]).await, Some(0));
        self.app.mover().drain(Duration::ZERO).await.unwrap();
        let began = Instant::now();
        self.app.unsuspend_user(by, user, ActionNote::default()).await.unwrap();
        self.work().await;
        println!("{} likes of archived posts came back in {:.1} s", posts.len(), seconds(began));
    }

    /// Erases a user who likes these posts.
    async fn erase(&mut self, user: UserId, posts: &[PostId]) {
        self.import(posts.iter().map(|post| (user, *post))).await;
        let delete = self.app.delete_user(&Moderator::Operator, user, ActionNote::default(), Duration::ZERO);
        delete.await.unwrap();
        // As if a minute had passed since.
        self.ask::<()>(&["HSET", &format!("ff:{{u{user}}}:user"), "deletion", "1"]);
        let began = Instant::now();
        self.work().await;
        println!("{} likes of archived posts were erased in {:.1} s", posts.len(), seconds(began));
        assert_eq!(self.ask::<u64>(&["EXISTS", &format!("ff:{{u{user}}}:user")]), 0, "it is erased");
    }
}

fn seconds(began: Instant) -> f64 {
    began.elapsed().as_secs_f64()
}
