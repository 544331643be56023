//! Samples of each kind of data, measured as the product stores them and in plain layouts.

use std::collections::BTreeMap;
use std::fmt;

use fanfold::app::App;
use fanfold::model::id::{PostId, UserId};
use fanfold::model::region::{Region, Table};
use fanfold::model::relation::Side;
use fanfold::store::batch::Batch;
use fanfold::store::command::Command;
use fanfold::store::key::row::Row;
use fanfold::store::key::{self, Key, Keys, Layout};
use fanfold::store::memory::{self, KeyUsage, usage_of_user};
use fanfold::store::region;
use redis::{Cmd, Connection, FromRedisValue, cmd};

use crate::plain::{self, Plain};
use crate::reactions::Reactions;

/// Maximum number of users, and of posts, that are sampled.
const KEYS: usize = 1_000;
/// Maximum number of readers that are sampled in addition: few users have what they have.
const READERS: usize = 100;
/// Maximum number of shards of the username index that are sampled.
const NAME_SHARDS: u32 = 200;
/// Maximum number of shards of the regions that are sampled: four thousand users each.
const REGION_SHARDS: u64 = 5;

/// The size of a plain layout, relative to that of the product.
pub(crate) struct Ratio {
    pub(crate) kind: &'static str,
    pub(crate) layout: &'static str,
    pub(crate) times: f64,
}

/// The data to compare.
pub(crate) struct Sample {
    users: Vec<UserId>,
    posts: Vec<PostId>,
    reactions: Reactions,
    /// The day with all visits.
    day: Layout,
    /// The last user id issued.
    last: u64,
}

impl Sample {
    pub(crate) fn new(
        users: &[UserId],
        readers: usize,
        posts: &[PostId],
        reactions: Reactions,
        day: Layout,
    ) -> Self {
        let mut sampled = evenly_spaced(users, KEYS);
        sampled.extend(evenly_spaced(&users[..readers], READERS));
        sampled.sort_unstable();
        sampled.dedup();
        let last = users.last().unwrap().get();
        Self { users: sampled, posts: evenly_spaced(posts, KEYS), reactions, day, last }
    }

    /// Writes the sample in plain layouts, and returns their relative sizes.
    pub(crate) async fn compare(&self, app: &App, connection: Connection) -> Vec<Ratio> {
        let mut redis = Redis { app, connection };
        let mut ratios = vec![
            self.follows(&mut redis).await,
            self.timelines(&mut redis).await,
            self.users(&mut redis).await,
            names(&mut redis).await,
            self.posts(&mut redis).await,
        ];
        ratios.extend(self.reactions(&mut redis).await);
        ratios.extend(self.visits(&mut redis).await);
        ratios.push(self.regions(&mut redis).await);
        ratios
    }

    /// Compares both lists, since each follow is stored in two.
    async fn follows(&self, redis: &mut Redis<'_>) -> Ratio {
        let (mut own, mut plain) = (0.0, 0.0);
        for side in [Side::Following, Side::Followers] {
            let usage = redis.usage(&self.users, |keys, user| memory::usage(&keys.list(user, side))).await;
            let plains = self.users.iter().filter_map(|user| redis.plain_list(*user, side));
            let plains: Vec<Plain> = plains.collect();
            own += quotient(usage.bytes, usage.items);
            plain += quotient(plain::write(&mut redis.connection, &plains), usage.items);
        }
        Ratio { kind: "follow", layout: "sorted sets of ids of 36 characters", times: plain / own }
    }

    async fn timelines(&self, redis: &mut Redis<'_>) -> Ratio {
        let own = redis.usage(&self.users, |keys, user| memory::usage(&keys.timeline(user))).await;
        let plains: Vec<Plain> = self.users.iter().filter_map(|user| redis.plain_timeline(*user)).collect();
        redis.compare("timeline entry", "a sorted set of ids", &own, &plains)
    }

    async fn users(&self, redis: &mut Redis<'_>) -> Ratio {
        let own = redis.usage(&self.users, |keys, user| memory::usage(&keys.user(user))).await;
        let plain = |user: &UserId| {
            let key = redis.keys().user(*user);
            redis.plain_fields(&format!("user:{user}"), &key)
        };
        let plains: Vec<Plain> = self.users.iter().flat_map(plain).collect();
        redis.compare("user", "a key for each field", &own, &plains)
    }

    async fn posts(&self, redis: &mut Redis<'_>) -> Ratio {
        let own = redis.usage(&self.posts, |keys, post| memory::usage(&keys.post(post))).await;
        let plain = |post: &PostId| {
            let key = redis.keys().post(*post);
            redis.plain_fields(&format!("post:{post}"), &key)
        };
        let plains: Vec<Plain> = self.posts.iter().flat_map(plain).collect();
        redis.compare("post", "a key for each field", &own, &plains)
    }

    async fn reactions(&self, redis: &mut Redis<'_>) -> [Ratio; 3] {
        let Reactions { likes, likers, bookmarks } = &self.reactions;
        [
            redis.compare_sets("like", likes, |keys, user| usage_of_user(keys, row("liked"), user)).await,
            redis.compare_sets("like of a hot post", likers, memory::usage_of_likes).await,
            redis
                .compare_sets("bookmark", bookmarks, |keys, user| usage_of_user(keys, row("bookmarks"), user))
                .await,
        ]
    }

    async fn visits(&self, redis: &mut Redis<'_>) -> [Ratio; 2] {
        let shards: Vec<u32> = (0..self.day.shards).collect();
        let own = redis.usage(&shards, |keys, shard| memory::usage(&keys.visits(self.day, shard))).await;
        let visitors: Vec<u64> = shards.iter().flat_map(|shard| redis.visitors(self.day, *shard)).collect();
        let set = Plain::set("visits", visitors.clone());
        let estimate = Plain::hyper_log_log("visits:estimated", visitors);
        [
            redis.compare("visit", "one set of ids", &own, &[set]),
            redis.compare("visit", "a HyperLogLog, which is inexact", &own, &[estimate]),
        ]
    }

    async fn regions(&self, redis: &mut Redis<'_>) -> Ratio {
        let shards: Vec<u64> = (0..memory::region_shards(self.last).min(REGION_SHARDS)).collect();
        let own = redis.usage(&shards, |keys, shard| memory::usage(&keys.regions(shard))).await;
        let users = shards.iter().flat_map(|shard| memory::users_of_regions(*shard)).collect();
        let regions = redis.send(region::read(redis.keys(), users)).await.concat();
        let plain = |(user, region): (UserId, Option<Region>)| {
            Some(Plain::text(&format!("user:{user}:region"), code(region?)))
        };
        let plains: Vec<Plain> = regions.into_iter().filter_map(plain).collect();
        redis.compare("region", "a key for each user", &own, &plains)
    }
}

async fn names(redis: &mut Redis<'_>) -> Ratio {
    let shards: Vec<u32> = (0..redis.keys().name_shards().min(NAME_SHARDS)).collect();
    let own = redis.usage(&shards, |keys, shard| memory::usage(&keys.names(shard))).await;
    let plain = |shard: &u32| {
        let key = redis.keys().names(*shard);
        redis.plain_fields("name", &key)
    };
    let plains: Vec<Plain> = shards.iter().flat_map(plain).collect();
    redis.compare("username", "a key for each name", &own, &plains)
}

/// The Redis that holds the product's data, and the plain layouts.
struct Redis<'a> {
    app: &'a App,
    connection: Connection,
}

impl Redis<'_> {
    fn keys(&self) -> &Keys {
        self.app.store().keys()
    }

    /// Measures keys of the product, and returns their total usage.
    async fn usage<T: Copy>(
        &self,
        all: &[T],
        usage: impl Fn(&Keys, T) -> Command<Option<KeyUsage>>,
    ) -> KeyUsage {
        let usages = self.send(all.iter().map(|one| usage(self.keys(), *one))).await;
        let add = |one: KeyUsage, other: KeyUsage| KeyUsage {
            bytes: one.bytes + other.bytes,
            items: one.items + other.items,
            ..one
        };
        usages.into_iter().flatten().reduce(add).unwrap()
    }

    /// Sends commands of the product.
    async fn send<T>(&self, commands: impl IntoIterator<Item = Command<T>>) -> Vec<T> {
        let mut batch = Batch::new("bench");
        let tickets = commands.into_iter().map(|command| batch.push(command)).collect();
        batch.send(self.app.store()).await.unwrap().take_all(tickets).unwrap()
    }

    /// Reads data of the product as Redis stores it.
    fn read<T: FromRedisValue>(&mut self, command: &Cmd) -> T {
        command.query(&mut self.connection).unwrap()
    }

    fn plain_list(&mut self, user: UserId, side: Side) -> Option<Plain> {
        let key = self.keys().list(user, side);
        let follows: Vec<(u64, i64)> = self.read(cmd("ZRANGE").arg(key).arg(0).arg(-1).arg("WITHSCORES"));
        let members = follows.into_iter().map(|(id, at)| (uuid(id), at));
        Plain::sorted_set(&format!("{side:?}:{}", uuid(user.get())), members.collect())
    }

    fn plain_timeline(&mut self, user: UserId) -> Option<Plain> {
        // The last entry is the seal.
        let entries: Vec<i64> = self.read(cmd("LRANGE").arg(self.keys().timeline(user)).arg(0).arg(-2));
        let members = entries.into_iter().map(|post| (post.to_string(), post));
        Plain::sorted_set(&format!("timeline:{user}"), members.collect())
    }

    /// Returns a plain key for each field of a hash.
    fn plain_fields<K>(&mut self, name: &str, key: &Key<K>) -> Vec<Plain> {
        let fields: Vec<(String, String)> = self.read(cmd("HGETALL").arg(key));
        fields.into_iter().map(|(field, text)| Plain::text(&format!("{name}:{field}"), text)).collect()
    }

    fn visitors(&mut self, day: Layout, shard: u32) -> Vec<u64> {
        self.read(cmd("SMEMBERS").arg(self.keys().visits(day, shard)))
    }

    /// Compares sets of ids with sorted sets.
    async fn compare_sets<Owner: Copy + Ord + fmt::Display, Member: fmt::Display>(
        &mut self,
        kind: &'static str,
        sets: &BTreeMap<Owner, Vec<Member>>,
        usage: impl Fn(&Keys, Owner) -> Command<Option<KeyUsage>>,
    ) -> Ratio {
        let owners: Vec<Owner> = sets.keys().copied().collect();
        let owners = evenly_spaced(&owners, KEYS);
        let own = self.usage(&owners, usage).await;
        let plain = |owner: &Owner| {
            let members =
                (1_700_000_000_000..).zip(&sets[owner]).map(|(at, member)| (member.to_string(), at));
            Plain::sorted_set(&format!("{kind}:{owner}"), members.collect())
        };
        let plains: Vec<Plain> = owners.iter().filter_map(plain).collect();
        self.compare(kind, "a sorted set of ids", &own, &plains)
    }

    /// Writes these plain keys, and compares their size with that of the same data in the product.
    fn compare(
        &mut self,
        kind: &'static str,
        layout: &'static str,
        own: &KeyUsage,
        plains: &[Plain],
    ) -> Ratio {
        let bytes = plain::write(&mut self.connection, plains);
        Ratio { kind, layout, times: quotient(bytes, own.bytes) }
    }
}

/// Returns the row of the keys that this method names.
fn row(method: &str) -> &'static Row {
    key::KEYS.iter().find(|row| row.method == method).unwrap()
}

/// Returns at most `most` of these, evenly spaced.
fn evenly_spaced<T: Copy>(all: &[T], most: usize) -> Vec<T> {
    all.iter().step_by(all.len().div_ceil(most).max(1)).copied().collect()
}

/// Formats an id as a UUID, which has 36 characters.
fn uuid(id: u64) -> String {
    format!("00000000-0000-4000-8000-{id:012x}")
}

fn code(region: Region) -> String {
    let table = Table::current();
    let country = table.country(region).code;
    table.subdivision(region).map_or(country, |subdivision| &subdivision.code).to_owned()
}

#[allow(clippy::cast_precision_loss, reason = "a displayed estimate")]
fn quotient(one: u64, other: u64) -> f64 {
    one as f64 / other as f64
}
