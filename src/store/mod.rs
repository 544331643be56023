//! The hot store: the only layer that reads and writes Redis.
//!
//! Each domain module (`user`, `relation`, …) defines the storage of its data and builds
//! [`command::Command`]s for its queries and updates. `batch` sends them. The remaining modules are
//! infrastructure. Not here: the connections (`driver`), authorization, the order of writes to several slots (`app`),
//! running a Redis server (`managed`).
//!
#![doc = include_str!("README.md")]

pub mod account;
pub mod audience;
pub mod authentication;
pub mod batch;
pub mod block;
pub mod bucket;
mod cache;
pub mod cached;
pub mod command;
pub mod compact;
pub mod conversion;
pub mod diagnosis;
pub mod draft;
mod durable;
pub mod edit;
pub mod erasure;
pub mod error;
pub mod exclusion;
pub mod expiring;
pub mod export;
pub mod fanout;
pub mod follow;
pub mod intent;
pub mod invite;
pub mod key;
pub mod like;
pub mod malformed;
pub mod memory;
mod metric;
pub mod moderation_log;
pub mod moving;
pub mod name;
pub mod ordered;
pub mod post;
pub mod post_list;
pub mod post_times;
pub mod recovery;
pub mod referrer;
pub mod region;
pub mod relation;
pub mod report;
mod script;
pub mod session;
pub mod signal;
pub mod subject;
pub mod throttle;
pub mod tie;
pub mod timeline;
pub mod tree;
pub mod unreadable;
pub mod user;
pub mod visit;
pub mod written;

use std::collections::HashMap;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use futures::future::join;
use redis::{FromRedisValue as _, InfoDict};
use tokio::time::Instant;

use crate::config::RedisConfig;
use crate::driver;
use crate::driver::deployment::Deployment;
use crate::driver::encode::Pipeline;
use crate::driver::reply::Replies;
use crate::gate::{Gate, Moment};
use crate::model::clock::Timestamp;
use crate::store::cached::Cached;
use crate::store::command::{call, command, pipeline, several};
use crate::store::durable::Durable;
use crate::store::error::Error;
use crate::store::key::{FIRST_FANOUT_PARTITIONS, Keys, Tag};
use crate::store::signal::SignalListener;

/// A feature that a server must know to use a store that has it. Earlier versions reject a store that has one they do
/// not know.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Feature {
    /// Users have muted others.
    Exclusions,
    /// Users have blocked others or made their accounts private, or there are posts for followers only.
    Boundaries,
    /// Accounts have been suspended or deleted.
    Inactivity,
    /// There are replies, posts that quote others, or edited posts.
    Conversations,
    /// Recovery codes have been issued, which servers of earlier versions would not revoke.
    Recovery,
    /// The lists of referrers are divided into listed, limited and withheld entries.
    EntryKinds,
    /// Users have liked or bookmarked posts. Servers of earlier versions would lose the numbers of likes, and leave the
    /// bookmarks of erased accounts.
    Reactions,
}

impl Feature {
    /// All features that this version knows.
    const ALL: [Self; 7] = [
        Self::Exclusions,
        Self::Boundaries,
        Self::Inactivity,
        Self::Conversations,
        Self::Recovery,
        Self::EntryKinds,
        Self::Reactions,
    ];

    /// Returns the feature's name in the layout.
    fn name(self) -> &'static str {
        match self {
            Self::Exclusions => "exclusions",
            Self::Boundaries => "boundaries",
            Self::Inactivity => "inactivity",
            Self::Conversations => "conversations",
            Self::Recovery => "recovery",
            Self::EntryKinds => "entry_kinds",
            Self::Reactions => "reactions",
        }
    }
}

/// Value of `hash-max-listpack-value` with which Redis stores all posts and bios in the compact encoding: no post is
/// longer than 2,000 characters of four bytes.
pub const LONGEST_COMPACT: u64 = 8_192;

/// The hot store of one deployment: its connections, key format and layout.
#[derive(Clone)]
pub struct Store {
    deployment: Deployment,
    keys: Keys,
    round_trips: Arc<AtomicU64>,
    gate: Option<Arc<dyn Gate>>,
    /// Connection used to wait until writes are on disk; `None` if Redis cannot confirm this.
    durable: Option<Arc<Durable>>,
    /// The cache of records; `None` if it is disabled.
    cached: Option<Arc<Cached>>,
}

impl Store {
    /// Validates the options without connecting.
    pub fn validate(config: &RedisConfig) -> Result<(), OpenError> {
        Ok(Deployment::validate(config)?)
    }

    /// Connects, checks that the Redis server is suitable for storing data, and reads the layout, or sets the
    /// layout of a new store. Makes several round trips.
    pub async fn open(config: &RedisConfig) -> Result<Self, OpenError> {
        let deployment = Deployment::connect(config, Tag::Global.slot()).await?;
        let is_sharded = matches!(deployment, Deployment::Cluster(_));
        let first = Keys::new(&config.redis_prefix, 1).sharded(is_sharded);
        let mut store = Self {
            deployment,
            keys: first,
            round_trips: Arc::default(),
            gate: None,
            durable: None,
            cached: None,
        };
        let checks = join(store.check_server(config.redis_allow_eviction), store.check_encoding());
        let (can_wait, ()) = checks.await;
        store.durable = can_wait?.then(|| Arc::new(Durable::new(store.deployment.apart())));
        let StoreLayout { name_shards, fanout_partitions } = store.fix_layout(config).await?;
        let keys = Keys::new(&config.redis_prefix, name_shards).sharded(is_sharded);
        store.keys = keys.with_fanout_partitions(fanout_partitions);
        if config.redis_user_cache > 0 {
            let cached = Cached::open(&store, &config.redis_prefix, config.redis_user_cache).await?;
            store.cached = Some(Arc::new(cached));
        }
        Ok(store)
    }

    /// Returns a handle to the same store, with a gate.
    #[must_use]
    pub fn with_gate(&self, gate: Arc<dyn Gate>) -> Self {
        Self { gate: Some(gate), ..self.clone() }
    }

    /// Returns a handle to the same store, with a dedicated connection.
    #[must_use]
    pub fn apart(&self) -> Self {
        Self { deployment: self.deployment.apart(), ..self.clone() }
    }

    /// Returns the key builder.
    #[must_use]
    pub fn keys(&self) -> &Keys {
        &self.keys
    }

    /// Returns the number of round trips to Redis that this process has made.
    #[must_use]
    pub fn round_trips(&self) -> u64 {
        self.round_trips.load(Ordering::Relaxed)
    }

    /// Opens the current thread's connections, which are otherwise opened by the first command.
    pub async fn connect(&self) -> Result<(), Error> {
        Ok(self.deployment.open_lane().await?)
    }

    /// Returns the number of open connections in the pool.
    #[must_use]
    pub fn connections(&self) -> u32 {
        self.deployment.connections()
    }

    /// Returns the addresses of a cluster's masters, and whether each was reached when it was last tried; nothing if
    /// there is a single server.
    #[must_use]
    pub fn masters(&self) -> Vec<(String, bool)> {
        self.deployment.masters()
    }

    /// Returns true if replicas execute commands whose replies may lag.
    #[must_use]
    pub fn reads_replicas(&self) -> bool {
        self.deployment.reads_replicas()
    }

    /// Checks that Redis responds and accepts writes by writing the time to a key that nothing depends on; in a
    /// cluster, also that most masters respond. Makes one round trip; in a cluster, two at the same time.
    pub async fn probe(&self, now: Timestamp) -> Result<(), Error> {
        let probe = command("SET").key(&self.keys.probe()).arg(now.as_millis()).arg("EX").arg(60);
        let probe = probe.reply::<String>().send("probe", self);
        let (probed, mostly_responds) = join(probe, self.deployment.mostly_responds()).await;
        probed?;
        if mostly_responds { Ok(()) } else { Err(driver::error::Error::no_answer().into()) }
    }

    /// Waits until all previous writes are on disk, so that they survive a Redis crash. Does nothing if Redis
    /// is older than 7.2 or has no append-only file.
    pub async fn persist(&self) {
        let Some(durable) = &self.durable else { return };
        if !matches!(durable.wait(&self.keys).await, Ok(true)) {
            tracing::warn!("Redis did not confirm that a revocation is on disk; the revocation is in force");
        }
    }

    /// Returns the number of times this process has found Redis restarted or replaced by another server. Each
    /// time, Redis may have lost its latest writes.
    #[must_use]
    pub fn changes(&self) -> u64 {
        self.deployment.changes()
    }

    /// Opens a dedicated pub/sub connection.
    pub async fn listen(&self) -> Result<SignalListener, Error> {
        SignalListener::open(&self.deployment, self.keys.clone()).await
    }

    async fn exchange(&self, step: &'static str, pipeline: Pipeline) -> Result<Replies, Error> {
        self.round_trips.fetch_add(1, Ordering::Relaxed);
        // The runtime's clock suffices, because only metrics use this time.
        let began = Instant::now();
        let answered = self.deployment.exchange(pipeline).await;
        match &answered {
            Ok(_) => metric::answered(step, began.elapsed()),
            Err(_) => crate::metric::redis_errors_total(step).increment(1),
        }
        Ok(answered?)
    }

    async fn pass(&self, moment: Moment, batch: &'static str) {
        if let Some(gate) = &self.gate {
            gate.pass(moment, batch).await;
        }
    }

    /// Rejects a server that is too old for Fanfold's commands or that may evict data. Returns true if the
    /// server can confirm that writes are on disk.
    async fn check_server(&self, allow_eviction: bool) -> Result<bool, OpenError> {
        let is_cluster = self.keys.is_sharded();
        let mut can_wait = !is_cluster;
        let mut servers = self.info("default").await;
        if servers.iter().any(Result::is_ok) {
            // A master of a cluster may be down.
            servers.retain(Result::is_ok);
        }
        for info in servers {
            let info = info?;
            let version: String = info.get("redis_version").unwrap_or_default();
            check_version(&version, is_cluster)?;
            // INFO reports the policy even to a user who may not run CONFIG.
            let policy: String = info.get("maxmemory_policy").unwrap_or_default();
            if !allow_eviction {
                check_policy(&policy)?;
            }
            can_wait &= is_at_least(&version, (7, 2)) && info.get("aof_enabled") == Some(1);
        }
        Ok(can_wait)
    }

    /// Records that the store has a feature, so that servers of earlier versions, which do not know it, reject the
    /// store. Call this function before the first data of the feature are stored. Makes one round trip.
    pub async fn add_feature(&self, feature: Feature) -> Result<(), Error> {
        let add = call(&script::ADD_FEATURE).key(&self.keys.layout()).arg(feature.name()).reply::<bool>();
        add.send("add feature", self).await.map(drop)
    }

    /// Logs a warning if a server stores posts in the larger of the two encodings that Redis has for hashes. Skips
    /// servers that do not let their settings be read. Makes one round trip.
    async fn check_encoding(&self) {
        // All versions know this name, the older of the option's two names.
        let read = pipeline(&[command("CONFIG").arg("GET").arg("hash-max-ziplist-value")]);
        let servers = self.deployment.ask_all(read).await;
        let limits: Vec<u64> = servers.into_iter().filter_map(|replies| setting(&replies.ok()?)).collect();
        let low: Vec<u64> = limits.iter().copied().filter(|limit| *limit < LONGEST_COMPACT).collect();
        if let Some(least) = low.iter().min() {
            tracing::warn!(
                "hash-max-listpack-value is {least} on {} of {} Redis servers: set it to {LONGEST_COMPACT}, so that \
                 posts, accounts and sessions take less memory",
                low.len(),
                limits.len()
            );
        }
    }

    /// Returns what each server reports about itself. Makes one round trip.
    async fn info(&self, section: &str) -> Vec<Result<InfoDict, Error>> {
        let info = pipeline(&[command("INFO").arg(section)]);
        let replies = self.deployment.ask_all(info).await;
        let read = |replies: Result<Replies, driver::error::Error>| {
            let replies = replies?;
            let reply = replies.iter().next().unwrap_or_default();
            reply.check()?;
            Ok(InfoDict::from_redis_value(reply.value()?)?)
        };
        replies.into_iter().map(read).collect()
    }

    /// Returns the total memory that all servers use, in bytes; `None` if one of them does not report it. Makes one
    /// round trip.
    pub async fn memory_used(&self) -> Result<Option<u64>, Error> {
        let servers: Vec<InfoDict> = self.info("memory").await.into_iter().collect::<Result<_, _>>()?;
        Ok(servers.iter().map(|info| info.get::<u64>("used_memory")).sum())
    }

    /// Returns the memory that the fullest server uses, and its limit, in bytes; `None` if no server reports them.
    /// Makes one round trip.
    pub async fn fullest_memory(&self) -> Option<(u64, u64)> {
        let servers = self.info("memory").await.into_iter().filter_map(|info| diagnosis::memory(&info.ok()?));
        servers.max_by_key(|(used, limit)| u128::from(*used) * 1_000_000 / u128::from(*limit))
    }

    /// Returns the layout. Because it determines where each name and job is, the first process that opens the store
    /// fixes it; later values of the options have no effect.
    async fn fix_layout(&self, config: &RedisConfig) -> Result<StoreLayout, OpenError> {
        if let Some(layout) = self.read_layout().await? {
            return Ok(layout);
        }
        let wanted = StoreLayout::wanted(config, self.keys.is_sharded());
        if self.keys.is_sharded() {
            // Before the layout, so that a replica that has the layout has the issuer as well.
            draft::set_issuer(&self.keys).send("open: set issuer", self).await?;
        }
        let fix = |field: &str, value: u32| command("HSETNX").key(&self.keys.layout()).arg(field).arg(value);
        // The number of shards comes last: a layout that has it is complete.
        let fix =
            [fix("fanout_partitions", wanted.fanout_partitions), fix("name_shards", wanted.name_shards)];
        several::<(bool, bool)>(&fix).send("open: fix layout", self).await?;
        // Another process may have fixed the layout first.
        Ok(self.read_layout().await?.unwrap_or(wanted))
    }

    /// Reads the layout; `None` if the store is new. Rejects a store with features that this version does not know.
    async fn read_layout(&self) -> Result<Option<StoreLayout>, OpenError> {
        let fields = ["name_shards", "fanout_partitions", "features"];
        let read = command("HMGET").key(&self.keys.layout()).args(fields);
        let read = read.reply::<(Option<u32>, Option<u32>, Option<String>)>();
        let (name_shards, partitions, features) = read.send("open: read layout", self).await?;
        check_features(&features.unwrap_or_default())?;
        // Stores of earlier versions lack the number of partitions.
        let fanout_partitions = partitions.unwrap_or(FIRST_FANOUT_PARTITIONS).max(1);
        Ok(name_shards.map(|shards| StoreLayout { name_shards: shards.max(1), fanout_partitions }))
    }
}

/// The settings of a store that are fixed when it is first used.
struct StoreLayout {
    name_shards: u32,
    fanout_partitions: u32,
}

impl StoreLayout {
    /// Returns the layout of a new store.
    fn wanted(config: &RedisConfig, is_cluster: bool) -> Self {
        /// Average number of names per shard. Twice that number still fits in a listpack.
        const NAMES_PER_SHARD: u64 = 64;
        /// Default number of delivery job partitions in a cluster.
        const FANOUT_PARTITIONS: u32 = 16;
        let name_shards = config.redis_expected_users.div_ceil(NAMES_PER_SHARD).next_power_of_two().max(16);
        let name_shards = u32::try_from(name_shards).unwrap_or(1 << 31);
        let usual = if is_cluster { FANOUT_PARTITIONS } else { FIRST_FANOUT_PARTITIONS };
        Self { name_shards, fanout_partitions: config.redis_delivery_partitions.unwrap_or(usual) }
    }
}

/// Rejects a version of Redis that is too old.
pub fn check_version(version: &str, is_cluster: bool) -> Result<(), OpenError> {
    if !is_at_least(version, (6, 2)) {
        return Err(OpenError::TooOld(version.to_owned()));
    }
    if is_cluster && !is_at_least(version, (7, 0)) {
        return Err(OpenError::ClusterTooOld(version.to_owned()));
    }
    Ok(())
}

/// Rejects a `maxmemory-policy` that evicts keys. Accepts an unknown policy, which is empty.
pub fn check_policy(policy: &str) -> Result<(), OpenError> {
    if policy.is_empty() || policy == "noeviction" {
        return Ok(());
    }
    Err(OpenError::Evicts(policy.to_owned()))
}

/// Rejects the features of a store, separated by spaces, if this version does not know one of them.
fn check_features(features: &str) -> Result<(), OpenError> {
    let is_known = |name: &&str| Feature::ALL.iter().any(|feature| feature.name() == *name);
    match features.split_whitespace().find(|name| !is_known(name)) {
        Some(unknown) => Err(OpenError::UnknownFeature(unknown.to_owned())),
        None => Ok(()),
    }
}

/// Returns the value of the setting that `CONFIG GET` has found; `None` if the user may not run this command.
fn setting(replies: &Replies) -> Option<u64> {
    let settings = replies.iter().next()?.value().ok()?;
    HashMap::<String, u64>::from_redis_value(settings).ok()?.into_values().next()
}

fn is_at_least(version: &str, least: (u32, u32)) -> bool {
    let mut numbers = version.split('.').map(|part| part.parse::<u32>().unwrap_or(0));
    (numbers.next().unwrap_or(0), numbers.next().unwrap_or(0)) >= least
}

/// The reason a store could not be opened. Each message states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// No connection could be opened.
    #[error(transparent)]
    Connection(#[from] driver::error::OpenError),
    /// A command of the initial check failed.
    #[error("unexpected response from Redis")]
    Broken(#[from] Error),
    /// Redis cannot track the keys of cached records.
    #[error("Redis cannot track keys, which --redis-user-cache requires")]
    Untracked(#[source] redis::RedisError),
    /// The servers of a cluster lack commands that Fanfold uses.
    #[error("Redis {0} is too old for a cluster: 7.0 or newer is required")]
    ClusterTooOld(String),
    /// The cache supports a single server only.
    #[error("--redis-user-cache requires a single Redis server")]
    CacheOfCluster,
    /// A later version has stored data that this version does not understand.
    #[error(
        "the store has the feature {0:?}, which this version of Fanfold does not know: run a later version"
    )]
    UnknownFeature(String),
    /// Redis lacks commands that Fanfold uses.
    #[error("Redis {0} is too old: 6.2 or newer is required")]
    TooOld(String),
    /// Redis evicts keys when its memory is full.
    #[error(
        "Redis may evict data (maxmemory-policy is {0}): set it to noeviction, or pass --redis-allow-eviction"
    )]
    Evicts(String),
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_store_with_an_unknown_feature_is_rejected() {
        assert!(check_features("").is_ok() && check_features("exclusions boundaries").is_ok());
        let error = check_features("exclusions teleportation").unwrap_err().to_string();
        let expected = "the store has the feature \"teleportation\", which this version of Fanfold does not know: run \
                        a later version";
        assert_eq!(error, expected);
    }

    #[test]
    fn versions_are_compared_as_numbers() {
        let is_at_least_6_2 = |version| is_at_least(version, (6, 2));
        assert!(is_at_least_6_2("6.2.0") && is_at_least_6_2("7.0.15") && is_at_least_6_2("10.1"));
        assert!(!is_at_least_6_2("6.0.16") && !is_at_least_6_2("5.9") && !is_at_least_6_2(""));
    }
}
