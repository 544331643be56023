//! Reads what the masters of a deployment report about themselves, for `fanfold doctor`. Writes nothing, and also
//! connects to servers that a store rejects.
//!
//! Not here: what is right and what is wrong (`app::doctor`).

use std::collections::HashMap;

use redis::{FromRedisValue, InfoDict};

use crate::config::RedisConfig;
use crate::driver::deployment::Deployment;
use crate::driver::encode::Pipeline;
use crate::driver::reply::{Replies, Reply};
use crate::model::clock::{Clock, Timestamp};
use crate::store::command::{Builder, command, pipeline};
use crate::store::key::{Keys, Tag};
use crate::store::{OpenError, check_features};

/// A setting of Redis that matters to Fanfold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Setting {
    /// How an append-only file is flushed to disk.
    AppendFsync,
    /// When Redis writes snapshots; empty for never.
    Save,
    /// Number of replicas without which a master rejects writes.
    MinReplicas,
    /// Longest value of a hash in the compact encoding, in bytes.
    HashValue,
    /// Most entries of a sorted set in the compact encoding.
    ZsetEntries,
    /// Whether a cluster serves nothing while a slot has no master.
    FullCoverage,
    /// Time after which a node of a cluster counts as failed, in milliseconds.
    NodeTimeout,
}

impl Setting {
    const ALL: [Self; 7] = [
        Self::AppendFsync,
        Self::Save,
        Self::MinReplicas,
        Self::HashValue,
        Self::ZsetEntries,
        Self::FullCoverage,
        Self::NodeTimeout,
    ];

    /// Returns the setting's name. All versions know the older of two names.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::AppendFsync => "appendfsync",
            Self::Save => "save",
            Self::MinReplicas => "min-replicas-to-write",
            Self::HashValue => "hash-max-ziplist-value",
            Self::ZsetEntries => "zset-max-ziplist-entries",
            Self::FullCoverage => "cluster-require-full-coverage",
            Self::NodeTimeout => "cluster-node-timeout",
        }
    }
}

/// What a master reports about itself.
#[derive(Debug)]
pub struct Master {
    /// The master's address; for a single server, a description.
    pub address: String,
    info: InfoDict,
    /// The settings by name; empty if the user may not read them.
    settings: HashMap<String, String>,
    /// Difference between the master's clock and that of this machine, in milliseconds, as far as it is certain;
    /// `None` if the master does not report its time.
    pub clock_offset: Option<i64>,
    /// True if the user may use the store's keys.
    pub allows_keys: bool,
    /// True if the user may use the store's channels.
    pub allows_channels: bool,
    /// What `CLUSTER INFO` reports, by field.
    cluster: HashMap<String, String>,
}

impl Master {
    /// Returns a field of `INFO`; `None` if the server does not report it.
    #[must_use]
    pub fn text(&self, field: &str) -> Option<String> {
        self.info.get(field)
    }

    /// Returns a number in `INFO`; `None` if the server does not report it.
    #[must_use]
    pub fn number(&self, field: &str) -> Option<u64> {
        self.info.get(field)
    }

    /// Returns the memory that the server uses, and its limit; `None` if the server does not report them.
    #[must_use]
    pub fn memory(&self) -> Option<(u64, u64)> {
        memory(&self.info)
    }

    /// Returns a setting; `None` if the user may not read it, or the server does not have it.
    #[must_use]
    pub fn setting(&self, setting: Setting) -> Option<&str> {
        self.settings.get(setting.name()).map(String::as_str)
    }

    /// Returns a field of `CLUSTER INFO`; `None` if the server does not report it.
    #[must_use]
    pub fn cluster_text(&self, field: &str) -> Option<&str> {
        self.cluster.get(field).map(String::as_str)
    }
}

/// Returns the memory that a server uses, and its limit, both in bytes: `maxmemory`, or else the memory of the machine.
/// `None` if the server does not report them.
pub(super) fn memory(info: &InfoDict) -> Option<(u64, u64)> {
    let limits = ["maxmemory", "total_system_memory"].map(|field| info.get::<u64>(field));
    let limit = limits.into_iter().flatten().find(|limit| *limit > 0)?;
    Some((info.get("used_memory")?, limit))
}

/// The kind of a deployment.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// One server.
    Single,
    /// A server that Sentinel watches.
    Watched,
    /// A Redis Cluster.
    Cluster,
}

/// What is known of a deployment.
#[derive(Debug)]
pub struct Diagnosis {
    /// The kind of the deployment.
    pub kind: Kind,
    /// The masters that responded.
    pub masters: Vec<Master>,
    /// The masters that did not respond, each with the reason.
    pub silent: Vec<(String, String)>,
    /// In a cluster, the number of slots of each master, by address.
    pub slots: Vec<(String, usize)>,
    /// The features of the store; `None` if the store is new or cannot be read.
    pub features: Option<String>,
}

impl Diagnosis {
    /// Connects to a deployment and asks each master.
    pub async fn read(config: &RedisConfig, clock: &dyn Clock) -> Result<Self, OpenError> {
        let deployment = Deployment::connect(config, Tag::Global.slot()).await?;
        let kind = kind(&deployment, config);
        let keys = Keys::new(&config.redis_prefix, 1).sharded(kind == Kind::Cluster);
        let asked_at = clock.now();
        let replies = deployment.ask_all(questions(&keys)).await;
        let answered_at = clock.now();
        let mut diagnosis =
            Self { kind, masters: Vec::new(), silent: Vec::new(), slots: deployment.slots(), features: None };
        let mut addresses = deployment.masters().into_iter().map(|(address, _)| address);
        for replies in replies {
            let address = addresses.next().unwrap_or_else(|| "Redis".to_owned());
            match replies {
                Ok(replies) => diagnosis.add(address, &replies, asked_at, answered_at),
                Err(error) => diagnosis.silent.push((address, error.cause().to_string())),
            }
        }
        Ok(diagnosis)
    }

    /// Checks that this version knows all features of the store.
    pub fn check_features(&self) -> Result<(), OpenError> {
        check_features(self.features.as_deref().unwrap_or_default())
    }

    /// Adds what a master has replied to [`questions`].
    fn add(&mut self, address: String, replies: &Replies, asked_at: Timestamp, answered_at: Timestamp) {
        let mut replies = replies.iter();
        let info: Result<InfoDict, String> = read(replies.next());
        let time: Option<(i64, i64)> = read(replies.next()).ok();
        let allows_keys = !is_forbidden(replies.next());
        let allows_channels = !is_forbidden(replies.next());
        let features: Option<(Option<u32>, Option<String>)> = read(replies.next()).ok();
        let cluster: Option<String> = read(replies.next()).ok();
        let settings =
            replies.filter_map(|reply| read::<HashMap<String, String>>(Some(reply)).ok()).flatten();
        if let Some((Some(_shards), features)) = features {
            self.features = Some(features.unwrap_or_default());
        }
        let master = |info| Master {
            address: address.clone(),
            info,
            settings: settings.collect(),
            clock_offset: time.map(|time| offset(time, asked_at, answered_at)),
            allows_keys,
            allows_channels,
            cluster: cluster.as_deref().map(fields).unwrap_or_default(),
        };
        match info {
            Ok(info) => self.masters.push(master(info)),
            Err(reason) => self.silent.push((address, reason)),
        }
    }
}

fn kind(deployment: &Deployment, config: &RedisConfig) -> Kind {
    let url = config.redis_url.as_ref().map_or("", |url| url.expose());
    match deployment {
        Deployment::Cluster(_) => Kind::Cluster,
        Deployment::Single(_) if url.split(':').next().is_some_and(|scheme| scheme.ends_with("sentinel")) => {
            Kind::Watched
        }
        Deployment::Single(_) => Kind::Single,
    }
}

/// Returns the commands that each master receives. In a cluster, a master that does not serve a key's slot replies with
/// a redirect, but first checks whether the user may use the key.
fn questions(keys: &Keys) -> Pipeline {
    let publish = if keys.is_sharded() { "SPUBLISH" } else { "PUBLISH" };
    let mut questions: Vec<Builder> = vec![
        command("INFO").arg("default"),
        command("TIME"),
        command("EXISTS").key(&keys.probe()),
        // No server recognizes an empty signal.
        command(publish).key(&keys.pulled()).arg(""),
        command("HMGET").key(&keys.layout()).args(["name_shards", "features"]),
        command("CLUSTER").arg("INFO"),
    ];
    questions.extend(Setting::ALL.map(|setting| command("CONFIG").arg("GET").arg(setting.name())));
    pipeline(&questions)
}

fn read<T: FromRedisValue>(reply: Option<Reply<'_>>) -> Result<T, String> {
    let reply = reply.ok_or("there is no reply")?;
    reply.check().map_err(|error| error.to_string())?;
    let value = reply.value().map_err(|error| error.to_string())?;
    T::from_redis_value(value).map_err(|error| error.to_string())
}

/// Returns true if a reply shows that the user may not run the command with these arguments.
fn is_forbidden(reply: Option<Reply<'_>>) -> bool {
    reply.and_then(Reply::error_code).is_some_and(|code| code == b"NOPERM")
}

/// Returns the difference between a server's time, in seconds and microseconds, and that of this machine, in
/// milliseconds. The server has read its clock between two times of this machine, so a difference up to their distance
/// is zero.
fn offset((seconds, micros): (i64, i64), asked_at: Timestamp, answered_at: Timestamp) -> i64 {
    let there = seconds * 1_000 + micros / 1_000;
    let (earliest, latest) = (asked_at.as_millis(), answered_at.as_millis());
    if there < earliest { there - earliest } else { (there - latest).max(0) }
}

/// Parses lines of the form `field:value`.
fn fields(text: &str) -> HashMap<String, String> {
    let fields = text.lines().filter_map(|line| line.trim().split_once(':'));
    fields.map(|(field, value)| (field.to_owned(), value.to_owned())).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_clock_is_compared_with_both_ends_of_the_round_trip() {
        let at = Timestamp::from_millis;
        let offset_of = |there: i64| offset((there / 1_000, there % 1_000 * 1_000), at(5_000), at(5_100));
        assert_eq!([4_000, 5_000, 5_050, 5_100, 7_100].map(offset_of), [-1_000, 0, 0, 0, 2_000]);
    }
}
