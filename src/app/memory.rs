//! Measures memory usage per kind of data on the running Redis server, without writing.
//!
//! Samples are evenly spaced over all existing data. The numbers of items are extrapolated from the samples.
//!
//! Not here: a comparison with other layouts (`benches/memory.rs`).

use std::collections::BTreeSet;

use crate::app::App;
use crate::app::error::Error;
use crate::app::read::Load as _;
use crate::app::visit::history::VisitorCount;
use crate::model::attachment::ReferrerKind;
use crate::model::id::{PostId, UserId};
use crate::model::user::{UserFields, Username};
use crate::store::batch::Batch;
use crate::store::command::Command;
use crate::store::key::{KEYS, Keys};
use crate::store::memory::{self, KeyUsage, usage, usage_of_likes, usage_of_user};
use crate::store::post::{self, Record};
use crate::store::{region, user, visit};

/// Maximum number of keys sampled per kind.
const MAX_KEYS: u64 = 1_000;
/// Maximum number of region shards to sample. Up to twice as many shards of the username index are sampled.
const MAX_SHARDS: usize = 100;
/// Maximum number of commands per batch.
const BATCH_SIZE: usize = 500;

/// The memory usage of all data.
#[derive(Clone, Debug, PartialEq)]
pub struct Usage {
    /// Usage by kind.
    pub footprints: Vec<Footprint>,
    /// Total bytes used by Redis.
    pub redis_bytes: u64,
}

impl Usage {
    /// Returns the total bytes used by all kinds of data.
    #[must_use]
    pub fn bytes(&self) -> u64 {
        self.footprints.iter().map(Footprint::bytes).sum()
    }
}

/// The memory usage of one kind of data.
#[derive(Clone, Debug, PartialEq)]
pub struct Footprint {
    /// The name of an item of this kind, in the singular.
    pub kind: &'static str,
    /// Approximate number of items.
    pub count: u64,
    /// Number of items sampled.
    pub sampled: u64,
    /// Bytes per item.
    pub bytes_each: f64,
    /// The Redis encodings found.
    pub encodings: BTreeSet<String>,
}

impl Footprint {
    fn new(kind: &'static str, count: u64, sample: &[KeyUsage]) -> Self {
        let items = sample.iter().map(|usage| usage.items).sum();
        let encodings = sample.iter().map(|usage| usage.encoding.clone()).collect();
        Self { kind, count, sampled: items, bytes_each: bytes_per_item(sample, items), encodings }
    }

    /// Adds another copy of the same items.
    fn add_copy(&mut self, copy: &Self) {
        self.bytes_each += copy.bytes_each;
        self.encodings.extend(copy.encodings.iter().cloned());
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
}

impl App {
    /// Measures memory usage. Takes about 30 round trips, regardless of the amount of data.
    pub async fn measure_memory(&self) -> Result<Usage, Error> {
        let sampler = Sampler::new(self).await?;
        let mut footprints = sampler.of_users().await?;
        footprints.extend([sampler.ties().await?, sampler.names().await?, sampler.subjects().await?]);
        footprints.extend(sampler.posts().await?);
        footprints.extend([sampler.edits().await?, sampler.visits().await?, sampler.regions().await?]);
        let redis_bytes = self.store().memory_used().await?;
        Ok(Usage { footprints: by_kind(footprints), redis_bytes: redis_bytes.unwrap_or_default() })
    }
}

/// Measures a sample of each kind of data.
struct Sampler<'a> {
    app: &'a App,
    /// The last user id issued.
    last: u64,
    /// The sampled user ids. Some may not belong to a user.
    users: Vec<UserId>,
}

impl<'a> Sampler<'a> {
    async fn new(app: &'a App) -> Result<Self, Error> {
        let last = app.last_user_id().await?;
        let users = evenly_spaced(last, MAX_KEYS).filter_map(|index| UserId::new(index + 1)).collect();
        Ok(Self { app, last, users })
    }

    /// Measures the keys of the sampled users, but those that have shards.
    async fn of_users(&self) -> Result<Vec<Footprint>, Error> {
        let mut footprints = Vec::new();
        for row in KEYS.iter().filter(|row| row.is_of_user() && row.arguments.is_empty()) {
            for kind in row.footprints() {
                let usages = self.users.iter().map(|user| usage_of_user(self.keys(), row, *user));
                footprints.push(self.footprint_of_users(kind, &self.sample(usages).await?));
            }
        }
        Ok(footprints)
    }

    /// Measures the first shard of ties. In larger sets, a tie takes about as many bytes. There is one in the slot of
    /// each of two users.
    async fn ties(&self) -> Result<Footprint, Error> {
        let usages = self.users.iter().map(|user| usage(&self.keys().ties(*user, 0)));
        Ok(self.footprint_of_users("tie", &self.sample(usages).await?))
    }

    /// Creates a footprint from keys of the sampled users.
    fn footprint_of_users(&self, kind: &'static str, sample: &[KeyUsage]) -> Footprint {
        let items = sample.iter().map(|usage| usage.items).sum();
        Footprint::new(kind, extrapolate(items, self.users.len() as u64, self.last), sample)
    }

    /// Samples evenly spaced shards, and also the shards of some users' names, because most shards are empty
    /// if there are few names.
    async fn names(&self) -> Result<Footprint, Error> {
        let users = self.users.iter().map(|user| user::read(self.keys(), *user, UserFields::NONE));
        let users: Vec<_> = self.send(users).await?.into_iter().flatten().collect();
        let names = users.iter().filter_map(|user| Username::parse(&user.username).ok());
        let occupied = names.take(MAX_SHARDS).map(|username| self.keys().names_shard(&username));
        let shards = self.with_others(occupied);
        let sample = self.sample(shards.into_iter().map(|shard| usage(&self.keys().names(shard)))).await?;
        let count = extrapolate(users.len() as u64, self.users.len() as u64, self.last);
        Ok(Footprint::new("username", count, &sample))
    }

    /// Samples the shards of the subject index as those of the username index.
    async fn subjects(&self) -> Result<Footprint, Error> {
        let subjects = self.users.iter().map(|user| user::subject(self.keys(), *user));
        let subjects: Vec<_> = self.send(subjects).await?.into_iter().flatten().collect();
        let occupied = subjects.iter().take(MAX_SHARDS).map(|subject| self.keys().subjects_shard(*subject));
        let shards = self.with_others(occupied);
        let sample = self.sample(shards.into_iter().map(|shard| usage(&self.keys().subjects(shard)))).await?;
        let count = extrapolate(subjects.len() as u64, self.users.len() as u64, self.last);
        Ok(Footprint::new("subject", count, &sample))
    }

    /// Returns these shards of an index and others, evenly spaced.
    fn with_others(&self, occupied: impl Iterator<Item = u32>) -> BTreeSet<u32> {
        occupied.chain(shards(self.keys().name_shards(), MAX_SHARDS as u64)).collect()
    }

    /// Measures posts that are not deleted, and what is attached to them. Reposts are stored with their authors as
    /// well.
    async fn posts(&self) -> Result<Vec<Footprint>, Error> {
        let (posts, last) = self.sampled_posts().await?;
        let records = self.send(posts.iter().map(|post| post::read(self.keys(), *post))).await?;
        let live = posts.iter().zip(records).filter(|(_, record)| matches!(record, Record::Live(_)));
        let live: Vec<PostId> = live.map(|(post, _)| *post).collect();
        let footprint = |kind, items, sample: &[KeyUsage]| {
            Footprint::new(kind, extrapolate(items, posts.len() as u64, last), sample)
        };
        let sample = self.sample(live.iter().map(|post| usage(&self.keys().post(*post)))).await?;
        let mut footprints = vec![footprint("post", sample.len() as u64, &sample)];
        let footprint_of = |list: ReferrerKind| list.attachment().footprint;
        let mut kinds = ReferrerKind::ALL.map(footprint_of).to_vec();
        kinds.dedup();
        for kind in kinds {
            let lists = ReferrerKind::ALL.into_iter().filter(|list| footprint_of(*list) == kind);
            let keys =
                lists.flat_map(|list| live.iter().flat_map(move |post| self.keys().entries(*post, list)));
            let sample = self.sample(keys.map(|key| usage(&key))).await?;
            footprints.push(footprint(kind, sample.iter().map(|usage| usage.items).sum(), &sample));
        }
        let sample = self.sample(live.iter().map(|post| usage_of_likes(self.keys(), *post))).await?;
        let likes = sample.iter().map(|usage| usage.items).sum();
        footprints.push(footprint("like of a hot post", likes, &sample));
        Ok(footprints)
    }

    /// Measures the earlier versions of posts.
    async fn edits(&self) -> Result<Footprint, Error> {
        let (posts, last) = self.sampled_posts().await?;
        let sample = self.sample(posts.iter().map(|post| usage(&self.keys().edits(*post)))).await?;
        let items = sample.iter().map(|usage| usage.items).sum();
        Ok(Footprint::new("earlier version", extrapolate(items, posts.len() as u64, last), &sample))
    }

    /// Returns the sampled post ids, some of which may not belong to a post, and the last id issued.
    async fn sampled_posts(&self) -> Result<(Vec<PostId>, u64), Error> {
        let last = self.app.last_post_id().await?;
        let posts = evenly_spaced(last, MAX_KEYS).filter_map(|index| PostId::new(index + 1));
        Ok((posts.collect(), last))
    }

    /// Measures the last day with visits.
    async fn visits(&self) -> Result<Footprint, Error> {
        let days = visit::days(self.keys()).send("memory: days", self.app.store()).await?;
        let Some(&layout) = days.open.last() else {
            return Ok(Footprint::new("visit", 0, &[]));
        };
        let usages = shards(layout.shards, MAX_KEYS).map(|shard| usage(&self.keys().visits(layout, shard)));
        let sample = self.sample(usages).await?;
        let count = self.app.load(VisitorCount(layout)).await?;
        Ok(Footprint::new("visit", count, &sample))
    }

    /// Measures the regions of users who have set one.
    async fn regions(&self) -> Result<Footprint, Error> {
        let all = memory::region_shards(self.last);
        let shards: Vec<u64> = evenly_spaced(all, MAX_SHARDS as u64).collect();
        let sample = self.sample(shards.iter().map(|shard| usage(&self.keys().regions(*shard)))).await?;
        let users = shards.iter().flat_map(|shard| memory::users_of_regions(*shard)).collect();
        let regions = self.send(region::read(self.keys(), users)).await?;
        let found = regions.iter().flatten().filter(|(_, region)| region.is_some()).count() as u64;
        let count = extrapolate(found, shards.len() as u64, all);
        let footprint = Footprint::new("region", count, &sample);
        Ok(Footprint { sampled: found, bytes_each: bytes_per_item(&sample, found), ..footprint })
    }

    /// Returns the memory usage of each key that exists.
    async fn sample(
        &self,
        usages: impl IntoIterator<Item = Command<Option<KeyUsage>>>,
    ) -> Result<Vec<KeyUsage>, Error> {
        Ok(self.send(usages).await?.into_iter().flatten().collect())
    }

    /// Sends commands in batches, and returns the replies in order.
    async fn send<T>(&self, commands: impl IntoIterator<Item = Command<T>>) -> Result<Vec<T>, Error> {
        let mut commands = commands.into_iter();
        let mut replies = Vec::new();
        loop {
            let mut batch = Batch::new("memory: sample");
            let tickets: Vec<_> =
                commands.by_ref().take(BATCH_SIZE).map(|command| batch.push(command)).collect();
            if tickets.is_empty() {
                return Ok(replies);
            }
            replies.extend(batch.send(self.app.store()).await?.take_all(tickets)?);
        }
    }

    fn keys(&self) -> &Keys {
        self.app.keys()
    }
}

/// Adds up the footprints of each kind: an item has a copy in each of the keys that were measured. The first is that of
/// the keys that have all items.
fn by_kind(footprints: Vec<Footprint>) -> Vec<Footprint> {
    let mut kinds: Vec<Footprint> = Vec::new();
    for footprint in footprints {
        match kinds.iter_mut().find(|known| known.kind == footprint.kind) {
            Some(known) => known.add_copy(&footprint),
            None => kinds.push(footprint),
        }
    }
    kinds
}

/// Returns at most `most` of the shards, evenly spaced.
fn shards(count: u32, most: u64) -> impl Iterator<Item = u32> {
    evenly_spaced(count.into(), most).filter_map(|shard| u32::try_from(shard).ok())
}

/// Returns at most `most` of the numbers below `count`, evenly spaced.
fn evenly_spaced(count: u64, most: u64) -> impl Iterator<Item = u64> {
    let size = count.min(most);
    let number = move |index: u64| u128::from(index) * u128::from(count) / u128::from(size);
    (0..size).map(move |index| u64::try_from(number(index)).unwrap_or(u64::MAX))
}

/// Extrapolates the number of items found in `sampled` places to `all` places.
fn extrapolate(found: u64, sampled: u64, all: u64) -> u64 {
    let extrapolated = u128::from(found) * u128::from(all) / u128::from(sampled.max(1));
    u64::try_from(extrapolated).unwrap_or(u64::MAX)
}

#[expect(clippy::cast_precision_loss, reason = "a displayed estimate")]
fn bytes_per_item(sample: &[KeyUsage], items: u64) -> f64 {
    let bytes: u64 = sample.iter().map(|usage| usage.bytes).sum();
    if items == 0 { 0.0 } else { bytes as f64 / items as f64 }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn samples_are_evenly_spaced() {
        let spaced = |count, most| evenly_spaced(count, most).collect::<Vec<u64>>();
        assert!(spaced(0, 5).is_empty());
        assert_eq!(spaced(3, 5), [0, 1, 2]);
        assert_eq!(spaced(10, 5), [0, 2, 4, 6, 8]);
        assert_eq!(spaced(u64::MAX, 2), [0, (1 << 63) - 1]);
    }

    #[test]
    fn counts_are_extrapolated_from_samples() {
        assert_eq!(extrapolate(5, 10, 1_000), 500);
        assert_eq!(extrapolate(0, 0, 7), 0);
        assert_eq!(extrapolate(2, 1, u64::MAX), u64::MAX);
    }
}
