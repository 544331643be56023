//! Caches each viewer's exclusions, and mutes users.
//!
//! Authentication returns the version of the viewer's exclusions in the round trip that it makes anyway. A viewer
//! without a version has no exclusions, which cost nothing. The exclusions of any other viewer are read once per
//! version, and then cached in this process.
//!
//! A mute is one script in the viewer's slot, so it needs no intent. Before it, a tie in the slots of both users is
//! written, by which an erasure finds the mute ([`crate::store::tie`]).
//!
//! Not here: what exclusions hide (`app::visibility`).
//!
//! # Why the version is read before the exclusions
//! A cached set is at least as new as its version. If the set were read first, a set from before a change could be
//! cached under the version after the change.

use std::sync::{Arc, LazyLock};

use futures::FutureExt as _;
use quick_cache::sync::{Cache, DefaultLifecycle};
use quick_cache::{DefaultHashBuilder, OptionsBuilder, Weighter};

use crate::app::App;
use crate::app::error::{Error, Field, Reason};
use crate::app::read::{Load, Pending, Read, Requests, Shared};
use crate::app::relation::too_many_changes;
use crate::app::viewer::{SignedIn, Viewer};
use crate::budget;
use crate::config::RelationConfig;
use crate::model::clock::Timestamp;
use crate::model::exclusion::{Blockers, Exclusions, Version};
use crate::model::id::UserId;
use crate::model::relation::{Follow, Mute, MuteScope};
use crate::store::batch::Batch;
use crate::store::compact::{self, MOST_MEMBERS};
use crate::store::{Feature, exclusion, tie};

/// Estimated size of the exclusions of a viewer, in bytes.
const TYPICAL: u64 = 500;
/// Estimated size of a cache entry beside its exclusions, in bytes.
const OVERHEAD: u64 = 100;
/// Maximum number of shards of the cache, each with a lock of its own.
const MOST_SHARDS: u64 = 256;

static NONE: LazyLock<Arc<Exclusions>> = LazyLock::new(Arc::default);

/// This process's cache of exclusions.
pub(super) struct ExclusionCache {
    entries: Cache<Subject, Arc<Exclusions>, Size>,
}

/// A viewer, and a version of the viewer's exclusions. The cached set is at least as new as the version.
type Subject = (UserId, Version);

/// Measures exclusions in bytes.
#[derive(Clone)]
struct Size;

impl Weighter<Subject, Arc<Exclusions>> for Size {
    fn weight(&self, _subject: &Subject, exclusions: &Arc<Exclusions>) -> u64 {
        OVERHEAD + exclusions.bytes() as u64
    }
}

impl ExclusionCache {
    /// Creates an empty cache of the configured size.
    pub(super) fn new(config: &RelationConfig) -> Self {
        let bytes = config.relation_exclusion_cache;
        let items = usize::try_from(bytes / TYPICAL).unwrap_or(usize::MAX);
        // The cache keeps no entry that is larger than nearly all of one of its shards.
        let shards = (bytes / (2 * largest(config))).clamp(1, MOST_SHARDS).ilog2();
        let options = OptionsBuilder::new()
            .estimated_items_capacity(items)
            .weight_capacity(bytes)
            .shards(1 << shards)
            .build()
            .expect("both capacities are set");
        let entries =
            Cache::with_options(options, Size, DefaultHashBuilder::default(), DefaultLifecycle::default());
        Self { entries }
    }
}

/// Returns the size in memory, in bytes, of the largest exclusions that the limits allow.
fn largest(config: &RelationConfig) -> u64 {
    let (mutes, blocks) = (config.relation_mute_limit as usize, config.relation_block_limit as usize);
    let lists = (blocks + config.relation_follow_limit as usize) * size_of::<Follow>();
    let users = (blocks + 2 * MOST_MEMBERS) * size_of::<UserId>();
    OVERHEAD + (mutes * size_of::<(UserId, Mute)>() + lists + users) as u64
}

impl App {
    /// Hides a user's posts from the viewer's timelines, until a time or until the mute is removed. The user is not
    /// notified. Idempotent; a repeated mute keeps its time, and replaces scope and end. Makes three round trips,
    /// plus one for the first mute of the process, and up to three at the limit.
    pub async fn mute(
        &self,
        viewer: &Viewer,
        other: UserId,
        scope: MuteScope,
        until: Option<Timestamp>,
    ) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let since = self.now();
        if until.is_some_and(|until| until <= since) {
            let message = "The end of a mute must be in the future.";
            return Err(Error::rule(Reason::Invalid, Field::Until, message));
        }
        self.check_other(signed_in, other, "You cannot mute yourself.").await?;
        self.enter(Feature::Exclusions).await?;
        self.add_ties(&[(signed_in.user, other)]).await?;
        let mute = Mute { since, until, scope };
        let mut version = self.write_mute(signed_in, other, mute).await?;
        if version.is_none() && self.end_mutes(signed_in).await? {
            version = self.write_mute(signed_in, other, mute).await?;
        }
        if version.is_none() {
            let limit = self.0.rules.relation.relation_mute_limit;
            let message = format!("You already mute {limit} users, the maximum.");
            return Err(Error::at_limit(Reason::ListLimit, limit, message));
        }
        signed_in.exclusions.raise(version);
        Ok(())
    }

    /// Adds the ties by which an erasure of one of two users finds the other, for each pair. Makes one round trip.
    pub(super) async fn add_ties(&self, pairs: &[(UserId, UserId)]) -> Result<(), Error> {
        let both = pairs.iter().flat_map(|&(user, other)| [(user, other), (other, user)]);
        self.send_all("ties", both.map(|(user, other)| tie::add(self.keys(), user, other))).await?;
        Ok(())
    }

    /// Writes a mute. Returns the version after the change; `None` if the viewer has reached the limit.
    async fn write_mute(
        &self,
        viewer: &SignedIn,
        other: UserId,
        mute: Mute,
    ) -> Result<Option<Version>, Error> {
        let limit = self.0.rules.relation.relation_mute_limit;
        let mute = exclusion::mute(self.keys(), viewer.user, other, mute, limit);
        self.write_sessions(viewer.user, "mute", mute).await
    }

    /// Removes the viewer's mutes that have ended, which resets the timeline. Returns true if there were any. The
    /// process knows them, so that Redis does not search all mutes. Makes no round trip if there are none, and the
    /// exclusions are cached.
    pub(super) async fn end_mutes(&self, viewer: &SignedIn) -> Result<bool, Error> {
        let (exclusions, now) = (self.exclusions(viewer).await?, self.now());
        let ended = exclusions.ended(now);
        if ended.is_empty() {
            return Ok(false);
        }
        let end = exclusion::remove_ended(self.keys(), viewer.user, &ended, now);
        viewer.exclusions.raise(self.write_sessions(viewer.user, "mutes: end", end).await?);
        Ok(true)
    }

    /// Removes a mute. Idempotent. Throttled, so that a user does not mute and unmute the other in a loop. Makes two
    /// round trips.
    pub async fn unmute(&self, viewer: &Viewer, other: UserId) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        self.check_other(signed_in, other, "You cannot unmute yourself.").await?;
        let unmute = exclusion::unmute(self.keys(), signed_in.user, other, self.change_limit());
        let version = self.write_sessions(signed_in.user, "unmute", unmute).await?;
        signed_in.exclusions.raise(version.map_err(too_many_changes)?);
        Ok(())
    }

    /// Returns the viewer's exclusions as of authentication, or newer. Makes no round trip if there are none, or if
    /// they are cached; otherwise one.
    pub(super) async fn exclusions(&self, viewer: &SignedIn) -> Result<Arc<Exclusions>, Error> {
        let Some(version) = viewer.exclusions.get() else { return Ok(Arc::clone(&NONE)) };
        // This benefits all later reads, so this operation's budget does not limit it.
        let read = budget::unlimited(self.read_exclusions(viewer.user));
        self.0.process.exclusions.entries.get_or_insert_async(&(viewer.user, version), Box::pin(read)).await
    }

    async fn read_exclusions(&self, viewer: UserId) -> Result<Arc<Exclusions>, Error> {
        let mut batch = Batch::new("exclusions");
        let exclusions = batch.push(exclusion::read(self.keys(), viewer));
        let blockers = batch.push(compact::all(self.keys(), self.keys().blockers(viewer), MOST_MEMBERS));
        let mut replies = batch.send(self.store()).await?;
        Ok(Arc::new(replies.take(exclusions)?.blocked_by(replies.take(blockers)?)))
    }

    /// Returns true if a user blocks the viewer, to whom the user must not appear to exist. Makes at most one round
    /// trip.
    pub(super) async fn is_hidden(
        &self,
        load: &impl Load,
        viewer: &SignedIn,
        other: UserId,
    ) -> Result<bool, Error> {
        let exclusions = self.exclusions(viewer).await?;
        Ok(match exclusions.blockers() {
            Blockers::These(blockers) => blockers.binary_search(&other).is_ok(),
            Blockers::TooMany => {
                let blockers = BlockersAmong { viewer: viewer.user, users: Shared(Arc::new([other])) };
                // Boxed because the futures' types nest deeper than the compiler's limit.
                load.load(blockers).boxed().await?[0]
            }
        })
    }

    /// Reads the version of the viewer's exclusions again, for an event long after authentication. Makes one round
    /// trip.
    pub async fn refresh_exclusions(&self, viewer: &Viewer) -> Result<(), Error> {
        let signed_in = viewer.signed_in()?;
        let read = exclusion::version(self.keys(), signed_in.user);
        let version = read.send("exclusions: version", self.store()).await?;
        signed_in.exclusions.raise(version);
        Ok(())
    }
}

/// For each of these users, true if they block the viewer. For viewers with too many blockers to be cached.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct BlockersAmong {
    pub(super) viewer: UserId,
    pub(super) users: Shared<UserId>,
}

impl Read for BlockersAmong {
    type Value = Arc<[bool]>;

    fn request(&self, requests: &mut Requests<'_>) -> Pending<Self::Value> {
        let blockers = requests.keys().blockers(self.viewer);
        let probe = |users: &[UserId]| requests.push(compact::contains(&blockers, users));
        let found: Vec<_> = self.users.0.chunks(compact::PROBE).map(probe).collect();
        Pending::hot(move |responses| Ok(responses.replies.take_all(found)?.concat().into()))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::config::RelationStrategy;

    const BYTES: u64 = 16_000_000;

    fn config(limit: u32) -> RelationConfig {
        RelationConfig {
            relation_follow_limit: limit,
            relation_mute_limit: limit,
            relation_block_limit: limit,
            relation_changes_per_pair: limit,
            relation_exclusion_cache: BYTES,
            relation_strategy: RelationStrategy::Zmscore,
        }
    }

    /// Caches the exclusions of 1,000 viewers, and returns how many of them fit in 16 MB.
    fn cached(exclusions: &Exclusions) -> usize {
        let cache = ExclusionCache::new(&config(5_000));
        for viewer in (1..=1_000).filter_map(UserId::new) {
            cache.entries.insert((viewer, Version::new(1).unwrap()), Arc::new(exclusions.clone()));
        }
        assert!(cache.entries.weight() <= BYTES, "{} bytes", cache.entries.weight());
        cache.entries.len()
    }

    #[test]
    fn the_exclusions_of_many_viewers_stay_within_the_configured_size() {
        let at = Timestamp::from_millis(0);
        let users = |from: u64| (from..from + 5_000).filter_map(UserId::new);
        let mute = Mute { since: at, until: None, scope: MuteScope::All };
        let mutes: Vec<_> = users(1).map(|user| (user, mute)).collect();
        let blocks: Vec<_> = users(1).map(|user| Follow { user, at }).collect();
        let blockers: Vec<_> = users(10_000).collect();
        let muting = Exclusions::new(mutes.clone());
        assert!(cached(&muting) > 20);
        let blocking = Exclusions::default().with(blocks.clone(), Vec::new());
        assert!(blocking.bytes() >= 5_000 * (size_of::<Follow>() + size_of::<UserId>()));
        assert!(cached(&blocking) > 50);
        let all = Exclusions::new(mutes).with(blocks.clone(), blocks).blocked_by(Some(blockers));
        assert_eq!(all.blocks().len(), 10_000);
        assert!(all.bytes() > muting.bytes() + blocking.bytes());
        assert!(cached(&all) > 10);
        assert!(all.bytes() as u64 <= largest(&config(5_000)));
    }

    #[test]
    fn the_largest_exclusions_that_the_limits_allow_are_cached() {
        for limit in [1, 5_000, 40_000] {
            let at = Timestamp::from_millis(0);
            let users = |from: u64| (from..from + u64::from(limit)).filter_map(UserId::new);
            let mute = Mute { since: at, until: None, scope: MuteScope::All };
            let entries = |from| users(from).map(|user| Follow { user, at }).collect::<Vec<_>>();
            let exclusions = Exclusions::new(users(1).map(|user| (user, mute)).collect())
                .with(entries(1), entries(100_000));
            let cache = ExclusionCache::new(&config(limit));
            let viewer = (UserId::new(1).unwrap(), Version::new(1).unwrap());
            cache.entries.insert(viewer, Arc::new(exclusions));
            assert_eq!(cache.entries.len(), 1, "{limit}");
        }
    }
}
