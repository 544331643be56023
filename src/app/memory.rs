//! How much memory things take: measured on the Redis that runs, beside what they would take if they were kept in
//! the way that comes to mind first.
//!
//! Some of everything are looked at, evenly spread over all there are. Those are also kept the other way, for a
//! moment, and measured by the same means.

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::model::id::{PostId, UserId};
use crate::model::region::Table;
use crate::model::relation::{Follow, Side};
use crate::model::user::{User, UserFields, Username};
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::Keys;
use crate::store::memory::{self, KeyUsage, Plain};
use crate::store::post::{self, Record};
use crate::store::relation::{self, PROBE};
use crate::store::{draft, name, region, user, visit};

/// How many keys of a kind are looked at.
const KEYS: u64 = 1_000;
/// How many shards of a kind are looked at.
const SHARDS: usize = 100;
/// How many things of a kind are kept in another way.
const COMPARED: usize = 20_000;
/// How many commands are sent together.
const AT_A_TIME: usize = 500;

/// What all things of a kind take.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// What they are, as one of them is called.
    pub kind: &'static str,
    /// About how many there are.
    pub count: u64,
    /// How many were looked at.
    pub sampled: u64,
    /// Bytes that one takes.
    pub bytes_each: f64,
    /// How Redis keeps them.
    pub encodings: BTreeSet<String>,
    /// How they could be kept, too.
    pub others: Vec<Other>,
}

/// Another way to keep things.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// Which way.
    pub layout: &'static str,
    /// Bytes that one thing takes in it.
    pub bytes_each: f64,
}

/// What everything takes.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// By kind.
    pub footprints: Vec<Footprint>,
    /// Bytes that Redis uses in all.
    pub redis_bytes: u64,
}

impl Usage {
    /// Bytes that all kinds take together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.footprints.iter().map(Footprint::bytes).sum()
    }
}

/// Usages added up.
#[derive(Default)]
struct Sum {
    bytes: u64,
    items: u64,
    encodings: BTreeSet<String>,
}

impl FromIterator<KeyUsage> for Sum {
    fn from_iter<I: IntoIterator<Item = KeyUsage>>(usages: I) -> Self {
        let mut sum = Self::default();
        for KeyUsage { bytes, items, encoding } in usages {
            sum.bytes += bytes;
            sum.items += items;
            sum.encodings.insert(encoding);
        }
        sum
    }
}

impl App {
    /// Measures. Some hundred round trips, however much there is.
    pub async fn measure_memory(&self) -> Result<Usage, Error> {
        if !memory::begin(self.keys()).send("memory: begin", self.store()).await? {
            let message = "Somebody else measures. Try again in a minute.";
            return Err(Error::Invalid(message.to_owned()));
        }
        let measured = self.measure_all().await;
        memory::end(self.keys()).send("memory: end", self.store()).await?;
        measured
    }

    async fn measure_all(&self) -> Result<Usage, Error> {
        let last = self.last_user_id().await?;
        let users: Vec<UserId> = spread(last, KEYS).filter_map(UserId::new).collect();
        let (user, records) = self.measure_users(&users, last).await?;
        let name = self.measure_names(&records, user.count).await?;
        let footprints = vec![
            self.measure_follows(&users, last).await?,
            self.measure_timelines(&users, last).await?,
            user,
            name,
            self.measure_posts().await?,
            self.measure_visits().await?,
            self.measure_regions(last).await?,
        ];
        let redis_bytes = memory::used().send("memory: used", self.store()).await?.unwrap_or_default();
        Ok(Usage { footprints, redis_bytes })
    }

    /// A follow stands in two lists.
    async fn measure_follows(&self, users: &[UserId], last: u64) -> Result<Footprint, Error> {
        let (following, plain_following) = self.measure_side(users, Side::Following).await?;
        let (followers, plain_followers) = self.measure_side(users, Side::Followers).await?;
        let footprint = Footprint {
            kind: "follow",
            count: scaled(following.items, users.len() as u64, last),
            sampled: following.items,
            bytes_each: ratio(following.bytes, following.items) + ratio(followers.bytes, followers.items),
            encodings: following.encodings.into_iter().chain(followers.encodings).collect(),
            others: Vec::new(),
        };
        Ok(footprint.beside("sorted sets of ids of 36 characters", plain_following + plain_followers))
    }

    async fn measure_side(&self, users: &[UserId], side: Side) -> Result<(Sum, f64), Error> {
        let usages = self.ask(users, |keys, user| memory::follows(keys, *user, side)).await?;
        let lists = self.ask(users, |keys, user| relation::range(keys, *user, side, 0, PROBE)).await?;
        let plain = |(user, list): (&UserId, Vec<Follow>)| {
            let members = list.into_iter().map(|follow| (uuid(follow.user), follow.at.as_millis()));
            (format!("{side:?}:{}", uuid(*user)), members.collect())
        };
        let plain = self.weigh_sorted_sets(users.iter().zip(lists).map(plain)).await?;
        Ok((usages.into_iter().flatten().collect(), plain))
    }

    async fn measure_timelines(&self, users: &[UserId], last: u64) -> Result<Footprint, Error> {
        let usages = self.ask(users, |keys, user| memory::timeline(keys, *user)).await?;
        let sum: Sum = usages.into_iter().flatten().collect();
        let count = scaled(sum.items, users.len() as u64, last);
        let entries = self.ask(users, |keys, user| memory::timeline_entries(keys, *user)).await?;
        let plain = |(user, entries): (&UserId, Vec<u64>)| {
            let scored = entries.into_iter().map(|id| (id.to_string(), i64::try_from(id).unwrap_or(0)));
            (format!("timeline:{user}"), scored.collect())
        };
        let other = self.weigh_sorted_sets(users.iter().zip(entries).map(plain)).await?;
        Ok(Footprint::new("timeline entry", count, sum).beside("a sorted set of ids", other))
    }

    /// With what was found of the records.
    async fn measure_users(&self, users: &[UserId], last: u64) -> Result<(Footprint, Vec<User>), Error> {
        let usages = self.ask(users, |keys, user| memory::user(keys, *user)).await?;
        let sum: Sum = usages.into_iter().flatten().collect();
        let count = scaled(sum.items, users.len() as u64, last);
        let fields = UserFields::DISPLAY_NAME | UserFields::BIO | UserFields::CREATED_AT;
        let records = self.ask(users, |keys, id| user::read(keys, *id, fields)).await?;
        let records: Vec<User> = records.into_iter().flatten().collect();
        let plains: Vec<(String, Plain)> = records.iter().flat_map(plain_user).collect();
        let other = ratio(self.weigh(&plains).await?, records.len() as u64);
        Ok((Footprint::new("user", count, sum).beside("a key for each field", other), records))
    }

    /// The shards of some of these users' names, and some others: where names are few, hardly any shard has one.
    async fn measure_names(&self, users: &[User], count: u64) -> Result<Footprint, Error> {
        let known = users.iter().filter_map(|user| Username::parse(&user.username).ok());
        let known = known.take(SHARDS).map(|username| self.keys().names_shard(&username));
        let others = spread(self.name_shards().into(), SHARDS as u64);
        let others = others.filter_map(|shard| u32::try_from(shard - 1).ok());
        let shards: Vec<u32> = known.chain(others).collect::<BTreeSet<u32>>().into_iter().collect();
        let usages = self.ask(&shards, |keys, shard| memory::names(keys, *shard)).await?;
        let sum: Sum = usages.into_iter().flatten().collect();
        let names = self.ask(&shards, |keys, shard| name::all(keys, *shard)).await?;
        let names = names.into_iter().flatten().take(COMPARED);
        let plain = |(username, holder): (_, name::Holder)| {
            (format!("name:{username}"), Plain::Text(holder.user().to_string()))
        };
        let plains: Vec<(String, Plain)> = names.map(plain).collect();
        let other = ratio(self.weigh(&plains).await?, plains.len() as u64);
        Ok(Footprint::new("username", count, sum).beside("a key for each name", other))
    }

    async fn measure_posts(&self) -> Result<Footprint, Error> {
        let last = draft::last_id(self.keys()).send("memory: posts", self.store()).await?;
        let posts: Vec<PostId> = spread(last, KEYS).filter_map(PostId::new).collect();
        let records = self.ask(&posts, |keys, post| post::read(keys, *post)).await?;
        let live = records.iter().zip(&posts).filter(|(record, _)| matches!(record, Record::Live(_)));
        let live: Vec<PostId> = live.map(|(_, post)| *post).collect();
        let usages = self.ask(&live, |keys, post| memory::post(keys, *post)).await?;
        let sum: Sum = usages.into_iter().flatten().collect();
        let count = scaled(sum.items, posts.len() as u64, last);
        let plains: Vec<(String, Plain)> = records.into_iter().flat_map(plain_post).collect();
        let other = ratio(self.weigh(&plains).await?, live.len() as u64);
        Ok(Footprint::new("post", count, sum).beside("a key for each field", other))
    }

    /// Of the last day on which somebody came.
    async fn measure_visits(&self) -> Result<Footprint, Error> {
        let days = visit::days(self.keys()).send("memory: days", self.store()).await?;
        let Some((day, all)) = days.into_iter().max() else {
            return Ok(Footprint::new("visit", 0, Sum::default()));
        };
        let shards = spread(all.into(), KEYS).filter_map(|shard| u32::try_from(shard - 1).ok());
        let shards: Vec<u32> = shards.collect();
        let usages = self.ask(&shards, |keys, shard| memory::visits(keys, day, *shard)).await?;
        let sum: Sum = usages.iter().flatten().cloned().collect();
        let count = scaled(sum.items, shards.len() as u64, all.into());
        let filled = shards.iter().zip(&usages).filter(|(_, usage)| usage.is_some());
        let filled: Vec<u32> = filled.take(SHARDS).map(|(shard, _)| *shard).collect();
        let visitors = self.ask(&filled, |keys, shard| memory::visitors(keys, day, *shard)).await?.concat();
        if visitors.is_empty() {
            return Ok(Footprint::new("visit", 0, Sum::default()));
        }
        let weigh = async |plain| self.weigh(&[(format!("visits:{}", day.number()), plain)]).await;
        let set = ratio(weigh(Plain::Set(visitors.clone())).await?, visitors.len() as u64);
        // It becomes no larger with more visitors.
        let log = ratio(weigh(Plain::HyperLogLog(visitors)).await?, count);
        let footprint = Footprint::new("visit", count, sum);
        Ok(footprint.beside("one set of ids", set).beside("a HyperLogLog, which is inexact", log))
    }

    /// Of those who say where they are.
    async fn measure_regions(&self, last: u64) -> Result<Footprint, Error> {
        let all = memory::region_shards(last);
        let shards: Vec<u64> = spread(all, SHARDS as u64).map(|shard| shard - 1).collect();
        let usages = self.ask(&shards, |keys, shard| memory::regions(keys, *shard)).await?;
        let mut sum: Sum = usages.into_iter().flatten().collect();
        let users = shards.iter().flat_map(|shard| memory::users_of_regions(*shard)).collect();
        let mut batch = Batch::new("memory: regions");
        let tickets = region::read(self.keys(), users).into_iter().map(|read| batch.push(read)).collect();
        let regions = batch.send(self.store()).await?.take_all(tickets)?.concat();
        sum.items = regions.len() as u64;
        let plain = |(user, region): &(UserId, _)| {
            let table = Table::current();
            let code =
                table.subdivision(*region).map_or(table.country(*region).code, |one| one.code.as_str());
            (format!("user:{user}:region"), Plain::Text(code.to_owned()))
        };
        let plains: Vec<(String, Plain)> = regions.iter().take(COMPARED).map(plain).collect();
        let other = ratio(self.weigh(&plains).await?, plains.len() as u64);
        let count = scaled(sum.items, shards.len() as u64, all);
        Ok(Footprint::new("region", count, sum).beside("a key for each user", other))
    }

    /// Asks the same of all of these.
    async fn ask<T, A>(&self, all: &[T], command: impl Fn(&Keys, &T) -> Command<A>) -> Result<Vec<A>, Error> {
        let mut answers = Vec::with_capacity(all.len());
        for some in all.chunks(AT_A_TIME) {
            let mut batch = Batch::new("memory: look");
            let tickets = some.iter().map(|one| batch.push(command(self.keys(), one))).collect();
            answers.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(answers)
    }

    /// Keeps some of these for a moment, and tells how many bytes an entry takes.
    async fn weigh_sorted_sets(
        &self,
        sets: impl Iterator<Item = (String, Vec<(String, i64)>)>,
    ) -> Result<f64, Error> {
        let mut members = 0;
        let is_wanted = |(_, set): &(String, Vec<(String, i64)>)| {
            let is_wanted = members < COMPARED && !set.is_empty();
            members += if is_wanted { set.len() } else { 0 };
            is_wanted
        };
        let plains: Vec<(String, Plain)> =
            sets.filter(is_wanted).map(|(name, set)| (name, Plain::SortedSet(set))).collect();
        Ok(ratio(self.weigh(&plains).await?, members as u64))
    }

    /// Keeps these for a moment, and tells how many bytes they take together.
    async fn weigh(&self, plains: &[(String, Plain)]) -> Result<u64, Error> {
        let mut bytes = 0;
        for plains in plains.chunks(AT_A_TIME) {
            self.ask(plains, |keys, (name, plain)| memory::write_plain(keys, name, plain)).await?;
            let usages = self.ask(plains, |keys, (name, _)| memory::plain_usage(keys, name)).await;
            self.ask(plains, |keys, (name, _)| memory::remove_plain(keys, name)).await?;
            let usages: Option<Vec<u64>> = usages?.into_iter().collect();
            bytes +=
                usages.ok_or(Broken::GaveUp("measuring what is kept for a moment"))?.into_iter().sum::<u64>();
        }
        Ok(bytes)
    }
}

impl Footprint {
    fn new(kind: &'static str, count: u64, sum: Sum) -> Self {
        let bytes_each = ratio(sum.bytes, sum.items);
        Self { kind, count, sampled: sum.items, bytes_each, encodings: sum.encodings, others: Vec::new() }
    }

    /// With another way to keep them, if it could be tried.
    fn beside(mut self, layout: &'static str, bytes_each: f64) -> Self {
        if bytes_each > 0.0 {
            self.others.push(Other { layout, bytes_each });
        }
        self
    }

    /// Bytes that all of them take.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a figure for people, and not negative"
    )]
    pub fn bytes(&self) -> u64 {
        (self.count as f64 * self.bytes_each) as u64
    }
}

/// At most so many of the numbers from 1 to `last`, evenly spread.
fn spread(last: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = last.min(most);
    let place = move |index: u64| u128::from(index) * u128::from(last) / u128::from(count);
    (0..count).map(move |index| 1 + u64::try_from(place(index)).unwrap_or(u64::MAX))
}

/// How many there are of all, if there are so many of those that were looked at.
fn scaled(found: u64, looked_at: u64, all: u64) -> u64 {
    let scaled = u128::from(found) * u128::from(all) / u128::from(looked_at.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "these are figures for people")]
fn ratio(bytes: u64, items: u64) -> f64 {
    if items == 0 { 0.0 } else { bytes as f64 / items as f64 }
}

/// An id as others make them: hexadecimal digits in five groups.
fn uuid(user: UserId) -> String {
    format!("00000000-0000-4000-8000-{:012x}", user.get())
}

fn plain_user(user: &User) -> Vec<(String, Plain)> {
    let created_at = user.created_at.map(|at| at.as_millis().to_string());
    let fields = [
        ("username", Some(user.username.clone())),
        ("display_name", user.display_name.clone()),
        ("bio", user.bio.clone()),
        ("created_at", created_at),
    ];
    plain_fields("user", user.id.get(), fields)
}

fn plain_post(record: Record) -> Vec<(String, Plain)> {
    let Record::Live(post) = record else { return Vec::new() };
    let fields = [
        ("author", Some(post.author.to_string())),
        ("content", Some(post.content)),
        ("created_at", Some(post.created_at.as_millis().to_string())),
        ("platform", post.platform),
        ("delivery", Some(post::print_delivery(post.delivery))),
    ];
    plain_fields("post", post.id.get(), fields)
}

fn plain_fields<const N: usize>(
    kind: &str,
    id: u64,
    fields: [(&str, Option<String>); N],
) -> Vec<(String, Plain)> {
    let plain =
        |(field, text): (&str, Option<String>)| Some((format!("{kind}:{id}:{field}"), Plain::Text(text?)));
    fields.into_iter().filter_map(plain).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_looked_at_is_evenly_spread() {
        let spread = |last, most| spread(last, most).collect::<Vec<u64>>();
        assert!(spread(0, 5).is_empty());
        assert_eq!(spread(3, 5), [1, 2, 3]);
        assert_eq!(spread(10, 5), [1, 3, 5, 7, 9]);
        assert_eq!(spread(u64::MAX, 2), [1, 1 << 63]);
        assert_eq!(scaled(5, 10, 1_000), 500);
        assert_eq!(scaled(0, 0, 7), 0);
    }
}
