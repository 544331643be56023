//! Memory usage per kind of data, measured on the running Redis, and compared with the most obvious
//! alternative layout.
//!
//! Samples are spread evenly over all existing data. A part of each sample is also written in the alternative
//! layout for a moment and measured the same way, so that both measurements cover the same data.

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::error::{Broken, Error};
use crate::app::read::Load as _;
use crate::app::visit::history::VisitorCount;
use crate::model::id::{PostId, UserId};
use crate::model::region::{Region, Table};
use crate::model::relation::{Follow, Side};
use crate::model::user::{User, UserFields, Username};
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::Keys;
use crate::store::memory::{self, KeyUsage, Plain};
use crate::store::name::Holder;
use crate::store::post::{self, Record};
use crate::store::{draft, name, region, relation, user, visit};

/// Keys sampled per kind.
const KEYS: u64 = 1_000;
/// Shards sampled per kind.
const SHARDS: usize = 100;
/// Approximate number of items per kind written in an alternative layout.
const COMPARED: u64 = 20_000;
/// Commands per batch.
const AT_A_TIME: usize = 500;

/// The memory usage of all data.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// Usage by kind.
    pub footprints: Vec<Footprint>,
    /// Total bytes used by Redis.
    pub redis_bytes: u64,
}

impl Usage {
    /// Returns the bytes used by all kinds together.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.footprints.iter().map(Footprint::bytes).sum()
    }
}

/// The memory usage of one kind of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// The name of one item of this kind.
    pub kind: &'static str,
    /// Approximate number of items.
    pub count: u64,
    /// Number of items sampled.
    pub sampled: u64,
    /// Bytes per item.
    pub bytes_each: f64,
    /// The Redis encodings found.
    pub encodings: BTreeSet<String>,
    /// Alternative layouts.
    pub others: Vec<Other>,
}

/// An alternative layout.
#[derive(Clone, Debug, PartialEq)]
pub struct Other {
    /// The name of the layout.
    pub layout: &'static str,
    /// Its size relative to the actual layout.
    pub times: f64,
}

impl Footprint {
    fn new<T>(kind: &'static str, count: u64, sampled: &[(T, KeyUsage)]) -> Self {
        let items = sampled.iter().map(|(_, usage)| usage.items).sum();
        let bytes = sampled.iter().map(|(_, usage)| usage.bytes).sum();
        let encodings = sampled.iter().map(|(_, usage)| usage.encoding.clone()).collect();
        Self { kind, count, sampled: items, bytes_each: ratio(bytes, items), encodings, others: Vec::new() }
    }

    /// Adds an alternative layout, if it could be measured.
    fn beside(mut self, layout: &'static str, times: Option<f64>) -> Self {
        self.others.extend(times.map(|times| Other { layout, times }));
        self
    }

    /// Returns the bytes used by all items of this kind.
    #[must_use]
    #[expect(
        clippy::cast_possible_truncation,
        clippy::cast_precision_loss,
        clippy::cast_sign_loss,
        reason = "a displayed estimate, and not negative"
    )]
    pub fn bytes(&self) -> u64 {
        (self.count as f64 * self.bytes_each).round() as u64
    }

    /// Returns the bytes per item in another layout.
    #[must_use]
    pub fn bytes_in(&self, other: &Other) -> f64 {
        self.bytes_each * other.times
    }
}

impl App {
    /// Measures memory usage. Some hundred round trips, regardless of the amount of data.
    pub async fn measure_memory(&self) -> Result<Usage, Error> {
        let nonce = self.rng().nonce();
        let measured = self.measure_all(nonce).await;
        if let Err(error) = memory::end(self.keys(), nonce).send("memory: end", self.store()).await {
            tracing::warn!(
                error = &error as &dyn std::error::Error,
                "the measuring lock could not be released; it expires within a minute"
            );
        }
        measured
    }

    async fn measure_all(&self, nonce: u64) -> Result<Usage, Error> {
        let scale = Scale { app: self, nonce };
        scale.claim().await?;
        let last = self.last_user_id().await?;
        let ids: Vec<UserId> = spread(last, KEYS).filter_map(UserId::new).collect();
        let fields = UserFields::DISPLAY_NAME | UserFields::BIO | UserFields::CREATED_AT;
        let users = self.ask_all(&ids, |keys, id| user::read(keys, *id, fields)).await?;
        let users: Vec<User> = users.into_iter().flatten().collect();
        let count = scaled(users.len() as u64, ids.len() as u64, last);
        let footprints = vec![
            scale.follows(&ids, last).await?,
            scale.timelines(&ids, last).await?,
            scale.users(&users, count).await?,
            scale.names(&users, count).await?,
            scale.posts().await?,
            scale.visits().await?,
            scale.regions(last).await?,
        ];
        let redis_bytes = memory::used().send("memory: used", self.store()).await?.unwrap_or_default();
        Ok(Usage { footprints, redis_bytes })
    }

    /// Sends the same command for each item.
    async fn ask_all<T, A>(
        &self,
        all: &[T],
        command: impl Fn(&Keys, &T) -> Command<A>,
    ) -> Result<Vec<A>, Error> {
        let mut answers = Vec::with_capacity(all.len());
        for some in all.chunks(AT_A_TIME) {
            let mut batch = Batch::new("memory: sample");
            let tickets = some.iter().map(|one| batch.push(command(self.keys(), one))).collect();
            answers.extend(batch.send(self.store()).await?.take_all(tickets)?);
        }
        Ok(answers)
    }
}

/// A measurement in progress; only one at a time.
struct Scale<'a> {
    app: &'a App,
    nonce: u64,
}

impl Scale<'_> {
    /// Acquires or extends the measuring lock: concurrent measurements would use the same temporary keys.
    async fn claim(&self) -> Result<(), Error> {
        let begin = memory::begin(self.app.keys(), self.nonce);
        if begin.send("memory: begin", self.app.store()).await? {
            return Ok(());
        }
        let message = "Another measurement is running, or was interrupted. Try again in a minute.";
        Err(Error::Invalid(message.to_owned()))
    }

    /// Measures both lists, since each follow is stored in two.
    async fn follows(&self, users: &[UserId], last: u64) -> Result<Footprint, Error> {
        let (following, plain_following) = self.side(users, Side::Following).await?;
        let (followers, plain_followers) = self.side(users, Side::Followers).await?;
        let plain = plain_following.unwrap_or_default() * following.bytes_each
            + plain_followers.unwrap_or_default() * followers.bytes_each;
        let bytes_each = following.bytes_each + followers.bytes_each;
        let footprint = Footprint {
            count: scaled(following.sampled, users.len() as u64, last),
            bytes_each,
            encodings: following.encodings.union(&followers.encodings).cloned().collect(),
            ..following
        };
        let times = (plain > 0.0).then(|| plain / bytes_each);
        Ok(footprint.beside("sorted sets of ids of 36 characters", times))
    }

    async fn side(&self, users: &[UserId], side: Side) -> Result<(Footprint, Option<f64>), Error> {
        let sampled = self.sample(users, |keys, user| memory::follows(keys, user, side)).await?;
        let read = |keys: &Keys, user: UserId, usage: &KeyUsage| {
            relation::range(keys, user, side, 0, usize::try_from(usage.items.max(1)).unwrap_or(usize::MAX))
        };
        let plain = |user: UserId, list: Vec<Follow>| {
            let members = list.into_iter().map(|follow| (uuid(follow.user), follow.at.as_millis()));
            vec![(format!("{side:?}:{}", uuid(user)), Plain::SortedSet(members.collect()))]
        };
        let times = self.compare(&sampled, read, plain).await?;
        Ok((Footprint::new("follow", 0, &sampled), times))
    }

    async fn timelines(&self, users: &[UserId], last: u64) -> Result<Footprint, Error> {
        let sampled = self.sample(users, memory::timeline).await?;
        let read = |keys: &Keys, user: UserId, _: &KeyUsage| memory::timeline_entries(keys, user);
        let plain = |user: UserId, entries: Vec<u64>| {
            let scored = entries.into_iter().map(|id| (id.to_string(), i64::try_from(id).unwrap_or(0)));
            vec![(format!("timeline:{user}"), Plain::SortedSet(scored.collect()))]
        };
        let times = self.compare(&sampled, read, plain).await?;
        let found = sampled.iter().map(|(_, usage)| usage.items).sum();
        let count = scaled(found, users.len() as u64, last);
        Ok(Footprint::new("timeline entry", count, &sampled).beside("a sorted set of ids", times))
    }

    async fn users(&self, users: &[User], count: u64) -> Result<Footprint, Error> {
        let ids: Vec<UserId> = users.iter().map(|user| user.id).collect();
        let sampled = self.sample(&ids, memory::user).await?;
        let plains: Vec<(String, Plain)> = users.iter().flat_map(plain_user).collect();
        let times = self.times(&plains, &sampled).await?;
        Ok(Footprint::new("user", count, &sampled).beside("a key for each field", times))
    }

    /// Samples the name shards of some of these users, and some others: with few names, hardly any shard has
    /// one.
    async fn names(&self, users: &[User], count: u64) -> Result<Footprint, Error> {
        let known = users.iter().filter_map(|user| Username::parse(&user.username).ok());
        let known = known.take(SHARDS).map(|username| self.app.keys().names_shard(&username));
        let shards: BTreeSet<u32> =
            known.chain(spread_shards(self.app.name_shards(), SHARDS as u64)).collect();
        let shards: Vec<u32> = shards.into_iter().collect();
        let sampled = self.sample(&shards, memory::names).await?;
        let read = |keys: &Keys, shard: u32, _: &KeyUsage| name::all(keys, shard);
        let plain = |_, names: Vec<(Username, Holder)>| {
            let plain = |(username, holder): (Username, Holder)| {
                (format!("name:{username}"), Plain::Text(holder.user().to_string()))
            };
            names.into_iter().map(plain).collect()
        };
        let times = self.compare(&sampled, read, plain).await?;
        Ok(Footprint::new("username", count, &sampled).beside("a key for each name", times))
    }

    async fn posts(&self) -> Result<Footprint, Error> {
        let last = draft::last_id(self.app.keys()).send("memory: posts", self.app.store()).await?;
        let ids: Vec<PostId> = spread(last, KEYS).filter_map(PostId::new).collect();
        let records = self.app.ask_all(&ids, |keys, post| post::read(keys, *post)).await?;
        let live = records.iter().zip(&ids).filter(|(record, _)| matches!(record, Record::Live(_)));
        let live: Vec<PostId> = live.map(|(_, post)| *post).collect();
        let sampled = self.sample(&live, memory::post).await?;
        let plains: Vec<(String, Plain)> = records.into_iter().flat_map(plain_post).collect();
        let times = self.times(&plains, &sampled).await?;
        let count = scaled(live.len() as u64, ids.len() as u64, last);
        Ok(Footprint::new("post", count, &sampled).beside("a key for each field", times))
    }

    /// Measures the last day with visits.
    async fn visits(&self) -> Result<Footprint, Error> {
        let days = visit::days(self.app.keys()).send("memory: days", self.app.store()).await?;
        let Some(&layout) = days.open.last() else {
            return Ok(Footprint::new::<u32>("visit", 0, &[]));
        };
        let shards: Vec<u32> = spread_shards(layout.shards, KEYS).collect();
        let sampled = self.sample(&shards, |keys, shard| memory::visits(keys, layout, shard)).await?;
        let count = self.app.load(VisitorCount(layout)).await?;
        let chosen = compared(&sampled);
        let visitors = |keys: &Keys, (shard, _): &&(u32, KeyUsage)| memory::visitors(keys, layout, *shard);
        let visitors = self.app.ask_all(&chosen, visitors).await?.concat();
        let footprint = Footprint::new("visit", count, &sampled);
        if visitors.is_empty() {
            return Ok(footprint);
        }
        let name = || format!("visits:{}", layout.day.number());
        let own: u64 = chosen.iter().map(|(_, usage)| usage.bytes).sum();
        let set = self.weigh(&[(name(), Plain::Set(visitors.clone()))]).await?;
        // Its size does not grow with more visitors.
        let log = self.weigh(&[(name(), Plain::HyperLogLog(visitors))]).await?;
        let log = ratio(log, footprint.bytes());
        Ok(footprint
            .beside("one set of ids", Some(ratio(set, own)))
            .beside("a HyperLogLog, which is inexact", Some(log)))
    }

    /// Measures the regions of users who have set one.
    async fn regions(&self, last: u64) -> Result<Footprint, Error> {
        let all = memory::region_shards(last);
        let shards: Vec<u64> = spread(all, SHARDS as u64).map(|shard| shard - 1).collect();
        let mut sampled = self.sample(&shards, memory::regions).await?;
        let mut places = Vec::new();
        for (shard, usage) in &mut sampled {
            let found = self.regions_of(*shard).await?;
            usage.items = found.len() as u64;
            places.push(found);
        }
        let chosen: BTreeSet<u64> = compared(&sampled).into_iter().map(|(shard, _)| *shard).collect();
        let chosen = |(shard, _): &(u64, KeyUsage)| chosen.contains(shard);
        let plains: Vec<(String, Plain)> = sampled
            .iter()
            .zip(places)
            .filter(|(shard, _)| chosen(shard))
            .flat_map(|(_, places)| places.into_iter().map(plain_region))
            .collect();
        let own: Vec<(u64, KeyUsage)> = sampled.iter().filter(|shard| chosen(shard)).cloned().collect();
        let times = self.times(&plains, &own).await?;
        let found = sampled.iter().map(|(_, usage)| usage.items).sum();
        let count = scaled(found, shards.len() as u64, all);
        Ok(Footprint::new("region", count, &sampled).beside("a key for each user", times))
    }

    /// Returns the regions of the users in a shard.
    async fn regions_of(&self, shard: u64) -> Result<Vec<(UserId, Region)>, Error> {
        let users = memory::users_of_regions(shard).collect();
        let mut batch = Batch::new("memory: regions");
        let tickets = region::read(self.app.keys(), users).into_iter().map(|read| batch.push(read)).collect();
        let regions = batch.send(self.app.store()).await?.take_all(tickets)?.concat();
        Ok(regions.into_iter().filter_map(|(user, region)| Some((user, region?))).collect())
    }

    /// Returns the usage of those keys that exist.
    async fn sample<T: Copy>(
        &self,
        all: &[T],
        usage: impl Fn(&Keys, T) -> Command<Option<KeyUsage>>,
    ) -> Result<Vec<(T, KeyUsage)>, Error> {
        let usages = self.app.ask_all(all, |keys, one| usage(keys, *one)).await?;
        Ok(all.iter().copied().zip(usages).filter_map(|(one, usage)| Some((one, usage?))).collect())
    }

    /// Returns the relative size of a part of the sample in an alternative layout.
    async fn compare<T: Copy, C>(
        &self,
        sampled: &[(T, KeyUsage)],
        read: impl Fn(&Keys, T, &KeyUsage) -> Command<C>,
        plain: impl Fn(T, C) -> Vec<(String, Plain)>,
    ) -> Result<Option<f64>, Error> {
        let chosen: Vec<(T, KeyUsage)> = compared(sampled).into_iter().cloned().collect();
        let contents = self.app.ask_all(&chosen, |keys, (one, usage)| read(keys, *one, usage)).await?;
        let plains = chosen.iter().zip(contents).flat_map(|((one, _), content)| plain(*one, content));
        self.times(&plains.collect::<Vec<_>>(), &chosen).await
    }

    /// Returns the size of `plains` relative to `own`, which holds the same data.
    async fn times<T>(
        &self,
        plains: &[(String, Plain)],
        own: &[(T, KeyUsage)],
    ) -> Result<Option<f64>, Error> {
        let own: u64 = own.iter().map(|(_, usage)| usage.bytes).sum();
        if plains.is_empty() || own == 0 {
            return Ok(None);
        }
        Ok(Some(ratio(self.weigh(plains).await?, own)))
    }

    /// Writes these keys temporarily, and returns their total size in bytes.
    async fn weigh(&self, plains: &[(String, Plain)]) -> Result<u64, Error> {
        let mut bytes = 0;
        for plains in plains.chunks(AT_A_TIME) {
            self.claim().await?;
            self.app.ask_all(plains, |keys, (name, plain)| memory::write_plain(keys, name, plain)).await?;
            let usages = self.app.ask_all(plains, |keys, (name, _)| memory::plain_usage(keys, name)).await;
            self.app.ask_all(plains, |keys, (name, _)| memory::remove_plain(keys, name)).await?;
            let usages: Option<Vec<u64>> = usages?.into_iter().collect();
            let usages = usages.ok_or(Broken::GaveUp("measuring temporary keys"))?;
            bytes += usages.into_iter().sum::<u64>();
        }
        Ok(bytes)
    }
}

/// Selects the keys to write in an alternative layout: about [`COMPARED`] items in total, evenly spread, each
/// key as a whole.
fn compared<T>(sampled: &[(T, KeyUsage)]) -> Vec<&(T, KeyUsage)> {
    let fitting = sampled.iter().filter(|(_, usage)| (1..=COMPARED).contains(&usage.items));
    let fitting: Vec<&(T, KeyUsage)> = fitting.collect();
    let items: u64 = fitting.iter().map(|(_, usage)| usage.items).sum();
    let step = usize::try_from(items.div_ceil(COMPARED)).unwrap_or(usize::MAX).max(1);
    fitting.into_iter().step_by(step).collect()
}

/// Returns at most `most` of the shards, evenly spread.
fn spread_shards(all: u32, most: u64) -> impl Iterator<Item = u32> {
    spread(all.into(), most).filter_map(|shard| u32::try_from(shard - 1).ok())
}

/// Returns at most `most` of the numbers from 1 to `last`, evenly spread.
fn spread(last: u64, most: u64) -> impl Iterator<Item = u64> {
    let count = last.min(most);
    let place = move |index: u64| u128::from(index) * u128::from(last) / u128::from(count);
    (0..count).map(move |index| 1 + u64::try_from(place(index)).unwrap_or(u64::MAX))
}

/// Extrapolates the number found in a sample of `looked_at` to `all`.
fn scaled(found: u64, looked_at: u64, all: u64) -> u64 {
    let scaled = u128::from(found) * u128::from(all) / u128::from(looked_at.max(1));
    u64::try_from(scaled).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "displayed estimates")]
fn ratio(bytes: u64, items: u64) -> f64 {
    if items == 0 { 0.0 } else { bytes as f64 / items as f64 }
}

/// Formats an id as a UUID.
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

fn plain_region((user, region): (UserId, Region)) -> (String, Plain) {
    let table = Table::current();
    let code = table.subdivision(region).map_or(table.country(region).code, |subdivision| &subdivision.code);
    (format!("user:{user}:region"), Plain::Text(code.to_owned()))
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
    fn what_is_compared_is_evenly_spread_and_in_whole() {
        let usage = |items| ((), KeyUsage { bytes: 0, items, encoding: String::new() });
        let items = |all: &[u64]| {
            let all: Vec<_> = all.iter().map(|items| usage(*items)).collect();
            compared(&all).iter().map(|((), usage)| usage.items).collect::<Vec<u64>>()
        };
        assert_eq!(items(&[3, 0, 5]), [3, 5]);
        assert_eq!(items(&[200_000, 7]), [7]);
        assert_eq!(items(&[9_000, 9_001, 9_002, 9_003, 9_004]), [9_000, 9_003]);
        assert!(items(&[]).is_empty());
    }

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
