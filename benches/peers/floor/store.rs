//! The floor's commands: those that Fanfold sends for the same queries, as `MONITOR` shows them.

use std::collections::HashSet;
use std::str::{FromStr, from_utf8};
use std::sync::Mutex;
use std::time::{Duration, Instant};

use clap::ValueEnum as _;
use fanfold::config::RelationStrategy;
use fanfold::model::clock::{Clock as _, SystemClock};
use fanfold::model::id::{PostId, UserId};
use fanfold::model::rng::Rng;
use fanfold::model::secret::Token;
use fanfold::model::user::Username;
use fanfold::store::key::Keys;
use redis::{Pipeline, Value};
use serde::Serialize;

use crate::floor::link::Link;

macro_rules! script {
    ($($file:literal)+) => {
        concat!($(include_str!(concat!("../../../src/store/lua/", $file, ".lua"))),+)
    };
}

const WATERMARK: &str = script!("part/stars" "watermark");
const OPEN_TIMELINE: &str = script!("part/ids" "part/timeline" "open_timeline");
const POSTS_PAGE: &str = script!("part/ids" "posts_page");

/// Lifetime of a timeline in seconds, and of the record of a removal in milliseconds.
pub(super) const LIFETIMES: [u64; 2] = [1_814_400, 86_400_000];

/// Fanfold's default of `--timeline-watermark-age`.
const WATERMARK_AGE: Duration = Duration::from_millis(10);

/// The commands of the floor, over one of the clients of Redis.
pub(super) trait Commands: Send + Sync + 'static {
    /// Returns true if a token has a session that has not expired.
    fn is_live(&self, token: &Token) -> impl Future<Output = bool> + Send;

    /// Returns the id of the user with this name.
    fn holder(&self, username: &str) -> impl Future<Output = Option<UserId>> + Send;

    /// Returns a user's 50 newest followers.
    fn followers(&self, user: UserId) -> impl Future<Output = Vec<UserId>> + Send;

    /// Returns users in the given order.
    fn profiles(&self, viewer: UserId, users: &[UserId]) -> impl Future<Output = Vec<Profile>> + Send;

    /// Reads the watermark, which a timeline whose authors are all pushed does not depend on, unless it has been read
    /// within the last few milliseconds.
    fn watermark(&self) -> impl Future<Output = ()> + Send;

    /// Returns the 21 newest posts of a timeline. One more than the page shows whether there is another page.
    fn timeline(&self, owner: UserId) -> impl Future<Output = Vec<PostId>> + Send;

    /// Returns posts in the given order; `None` for posts that do not exist.
    fn posts(&self, posts: &[PostId]) -> impl Future<Output = Vec<Option<Post>>> + Send;

    /// Returns the three newest posts of each author.
    fn posts_of(&self, authors: &[UserId]) -> impl Future<Output = Vec<Vec<PostId>>> + Send;
}

/// The store, over the client of the `redis` crate.
pub(super) struct Store {
    link: Link,
    keys: Keys,
    strategy: RelationStrategy,
    /// Generation of the timeline strategy.
    generation: String,
    rng: Rng,
    /// Digests of the scripts, in the order of `open`.
    scripts: [String; 3],
    watermark: Recent,
}

/// Time of the last read of the watermark.
#[derive(Default)]
pub(super) struct Recent(Mutex<Option<Instant>>);

impl Recent {
    /// Returns true if the watermark must be read again, by the caller.
    pub(super) fn is_due(&self) -> bool {
        let mut last = self.0.lock().unwrap();
        let is_due = last.is_none_or(|last| last.elapsed() > WATERMARK_AGE);
        if is_due {
            *last = Some(Instant::now());
        }
        is_due
    }
}

/// A user as a response shows them.
pub(super) struct Profile {
    pub(super) username: String,
    pub(super) display_name: String,
    pub(super) status: Status,
}

/// A user's relation to the viewer.
#[derive(Clone, Copy, Serialize)]
#[serde(rename_all = "UPPERCASE")]
pub(super) enum Status {
    None,
    Following,
    Follower,
    Mutual,
}

impl Status {
    /// Returns true if the viewer follows the user.
    pub(super) fn is_followed(self) -> bool {
        matches!(self, Self::Following | Self::Mutual)
    }
}

/// A post.
pub(super) struct Post {
    pub(super) author: UserId,
    pub(super) content: String,
}

impl Store {
    pub(super) async fn open(url: &str, strategy: RelationStrategy, connections: usize) -> Self {
        let link = Link::open(url, connections).await;
        let mut commands = Pipeline::new();
        let layout = Keys::new("ff:", 0).layout();
        commands.cmd("HMGET").arg(layout).arg("name_shards").arg("timeline_generation");
        for script in [WATERMARK, OPEN_TIMELINE, POSTS_PAGE] {
            commands.cmd("SCRIPT").arg("LOAD").arg(script);
        }
        let mut replies = link.send(&commands).await.into_iter();
        let [shards, generation] = texts(replies.next().unwrap()).try_into().unwrap();
        let scripts = replies.map(|digest| text(digest).unwrap()).collect::<Vec<_>>().try_into().unwrap();
        Self {
            link,
            keys: Keys::new("ff:", shards.unwrap().parse().unwrap()),
            strategy,
            generation: generation.unwrap(),
            rng: Rng::from_system(),
            scripts,
            watermark: Recent::default(),
        }
    }

    async fn send(&self, build: impl FnOnce(&mut Pipeline)) -> Vec<Value> {
        let mut commands = Pipeline::new();
        build(&mut commands);
        self.link.send(&commands).await
    }

    async fn send_one(&self, build: impl FnOnce(&mut Pipeline)) -> Value {
        self.send(build).await.remove(0)
    }

    fn ask_relations(&self, commands: &mut Pipeline, viewer: UserId, users: &[UserId]) {
        let lists = [self.keys.following(viewer), self.keys.followers(viewer)];
        if self.strategy == RelationStrategy::Zmscore {
            for list in lists {
                let probe = commands.cmd("ZMSCORE").arg(list);
                for user in users {
                    probe.arg(user.get());
                }
            }
            return;
        }
        let [find, following, followers] = self.keys.find(viewer, self.rng.nonce());
        let results = [following, followers];
        commands.cmd("MULTI");
        let add = commands.cmd("ZADD").arg(&find);
        for user in users {
            add.arg(0).arg(user.get());
        }
        commands.cmd("PEXPIRE").arg(&find).arg(10_000);
        for (result, list) in results.iter().zip(&lists) {
            let intersect = commands.cmd("ZINTERSTORE").arg(result).arg(2).arg(&find).arg(list);
            intersect.arg("WEIGHTS").arg(0).arg(1);
        }
        for result in &results {
            commands.cmd("ZREVRANGE").arg(result).arg(0).arg(-1).arg("WITHSCORES");
        }
        commands.cmd("UNLINK").arg(&find).arg(&results[0]).arg(&results[1]);
        commands.cmd("EXEC");
    }

    fn statuses(&self, replies: &[Value], users: &[UserId]) -> Vec<Status> {
        if self.strategy == RelationStrategy::Zmscore {
            let is_in = |list: &Value, index: usize| items(list)[index] != Value::Nil;
            return (0..users.len())
                .map(|index| status(is_in(&replies[0], index), is_in(&replies[1], index)))
                .collect();
        }
        let results = items(replies.last().unwrap());
        let [following, followers] = [4, 5].map(|step| members(&results[step]).collect::<HashSet<UserId>>());
        users.iter().map(|user| status(following.contains(user), followers.contains(user))).collect()
    }
}

impl Commands for Store {
    async fn is_live(&self, token: &Token) -> bool {
        let session = self.send_one(|commands| {
            commands.cmd("HGET").arg(self.keys.sessions(token.user())).arg(token.hash().as_bytes());
        });
        let session = text(session.await);
        let expires = session.as_deref().and_then(|session| session.split('\t').nth(3)?.parse().ok());
        expires.is_some_and(|expires: i64| SystemClock.now().as_millis() < expires)
    }

    async fn holder(&self, username: &str) -> Option<UserId> {
        let username = Username::parse(username).ok()?;
        let holder = self.send_one(|commands| {
            commands.cmd("HGET").arg(self.keys.names_with(&username)).arg(username.as_str());
        });
        text(holder.await)?.parse().ok()
    }

    async fn followers(&self, user: UserId) -> Vec<UserId> {
        // One more than the page shows whether there is another page.
        let followers = self.send_one(|commands| {
            commands.cmd("ZREVRANGE").arg(self.keys.followers(user)).arg(0).arg(50).arg("WITHSCORES");
        });
        members(&followers.await).take(50).collect()
    }

    async fn profiles(&self, viewer: UserId, users: &[UserId]) -> Vec<Profile> {
        let replies = self.send(|commands| {
            for &user in users {
                commands.cmd("HMGET").arg(self.keys.user(user)).arg("username").arg("display_name");
            }
            self.ask_relations(commands, viewer, users);
        });
        let mut replies = replies.await;
        let relations = replies.split_off(users.len());
        let statuses = self.statuses(&relations, users);
        let profile = |(reply, status)| {
            let [username, display_name] = texts(reply).try_into().unwrap();
            Profile { username: username.unwrap(), display_name: display_name.unwrap(), status }
        };
        replies.into_iter().zip(statuses).map(profile).collect()
    }

    async fn watermark(&self) {
        if !self.watermark.is_due() {
            return;
        }
        self.send(|commands| {
            let call = commands.cmd("EVALSHA").arg(&self.scripts[0]).arg(4);
            call.arg(self.keys.next_post()).arg(self.keys.publishing());
            call.arg(self.keys.stars()).arg(self.keys.numbered_stars()).arg(0).arg(0);
        })
        .await;
    }

    async fn timeline(&self, owner: UserId) -> Vec<PostId> {
        let [lifetime, removals] = LIFETIMES;
        let opened = self.send_one(|commands| {
            let call = commands.cmd("EVALSHA").arg(&self.scripts[1]).arg(3);
            call.arg(self.keys.timeline(owner)).arg(self.keys.following(owner)).arg(self.keys.removed(owner));
            call.arg(format!("{:x}", self.rng.nonce())).arg(lifetime).arg(&self.generation);
            call.arg("named").arg("forward").arg(21).arg("").arg(removals);
        });
        items(&items(&opened.await)[4]).iter().filter_map(id).collect()
    }

    async fn posts(&self, posts: &[PostId]) -> Vec<Option<Post>> {
        const FIELDS: [&str; 6] = ["author", "content", "created_at", "platform", "delivery", "settled"];
        let replies = self.send(|commands| {
            for &post in posts {
                commands.cmd("HMGET").arg(self.keys.post(post)).arg(&FIELDS);
            }
        });
        let post = |reply| {
            let [author, content, ..] = <[_; 6]>::try_from(texts(reply)).ok()?;
            Some(Post { author: author?.parse().ok()?, content: content? })
        };
        replies.await.into_iter().map(post).collect()
    }

    async fn posts_of(&self, authors: &[UserId]) -> Vec<Vec<PostId>> {
        let replies = self.send(|commands| {
            for &author in authors {
                let call = commands.cmd("EVALSHA").arg(&self.scripts[2]).arg(3);
                call.arg(self.keys.posts(author)).arg(self.keys.cold(author)).arg(self.keys.gone(author));
                call.arg("forward").arg(3).arg("").arg(200);
            }
        });
        replies.await.iter().map(|page| items(&items(page)[2]).iter().filter_map(id).collect()).collect()
    }
}

/// Parses the name of a strategy.
pub(crate) fn strategy(name: &str) -> RelationStrategy {
    RelationStrategy::from_str(name, false).unwrap()
}

/// Returns the relation between two users.
pub(super) fn status(is_followed: bool, is_follower: bool) -> Status {
    match (is_followed, is_follower) {
        (false, false) => Status::None,
        (true, false) => Status::Following,
        (false, true) => Status::Follower,
        (true, true) => Status::Mutual,
    }
}

fn items(value: &Value) -> &[Value] {
    match value {
        Value::Array(values) => values,
        other => panic!("{other:?} is not an array"),
    }
}

fn text(value: Value) -> Option<String> {
    match value {
        Value::BulkString(bytes) => String::from_utf8(bytes).ok(),
        _ => None,
    }
}

fn texts(value: Value) -> Vec<Option<String>> {
    match value {
        Value::Array(values) => values.into_iter().map(text).collect(),
        other => panic!("{other:?} is not an array"),
    }
}

fn id<T: FromStr>(value: &Value) -> Option<T> {
    match value {
        Value::BulkString(bytes) => from_utf8(bytes).ok()?.parse().ok(),
        _ => None,
    }
}

/// Returns the members of a sorted set, which come with their scores.
fn members(pairs: &Value) -> impl Iterator<Item = UserId> {
    items(pairs).iter().step_by(2).filter_map(id)
}
