//! Rules for `fanfold doctor`: what is right and what is wrong in the set-up of Redis and the archive, and the
//! remedies.
//!
//! The set-up that these rules find right is that of `docs/operating.md`, and of Fanfold's own Redis. Not here: how
//! Redis is asked (`store::diagnosis`), and the checks of the machine (`cli::doctor`).

use crate::app::error::with_causes;
use crate::archive::{self, Archive, error::Error as ArchiveError};
use crate::config::RedisConfig;
use crate::model::clock::Clock;
use crate::store::diagnosis::{Diagnosis, Kind, Master, Setting};
use crate::store::{LONGEST_COMPACT, check_policy, check_version};

/// Number of slots of a Redis Cluster.
const SLOTS: usize = 16_384;
/// The largest difference between the clocks of two machines, in milliseconds.
const MOST_CLOCK_OFFSET: i64 = 1_000;
/// Range of `zset-max-listpack-entries`: from Redis's default to the largest value for which `docs/capacity.md` has
/// measurements.
const ZSET_ENTRIES: (u64, u64) = (128, 512);
/// Range of `cluster-node-timeout`, in milliseconds. A shorter pause of a node must not cause a failover, and the users
/// of a master that fails wait for at least this time.
const NODE_TIMEOUT: (u64, u64) = (1_000, 15_000);
/// Shares of the memory in percent, above which there is a warning and a fault.
const USED_MEMORY: (u64, u64) = (75, 90);

/// The result of a check.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Level {
    /// The set-up is right.
    Ok,
    /// The check could not be made.
    Unknown,
    /// The set-up works, but costs memory, or may lose data or availability.
    Warning,
    /// The set-up does not work, or will lose data.
    Fault,
}

impl Level {
    /// Returns the level's name.
    #[must_use]
    pub fn name(self) -> &'static str {
        match self {
            Self::Ok => "ok",
            Self::Unknown => "unknown",
            Self::Warning => "warning",
            Self::Fault => "fault",
        }
    }
}

/// What a check has found.
#[derive(Clone, Debug)]
pub struct Finding {
    /// The name of the check.
    pub check: &'static str,
    /// The result.
    pub level: Level,
    /// What was found.
    pub found: String,
    /// What to do; `None` if nothing is wrong, as far as is known.
    pub remedy: Option<String>,
}

impl Finding {
    /// Creates the finding of a check. Only warnings and faults have a remedy.
    #[must_use]
    pub fn new(
        check: &'static str,
        (level, found): (Level, impl Into<String>),
        remedy: impl Into<String>,
    ) -> Self {
        let remedy = (level >= Level::Warning).then(|| remedy.into());
        Self { check, level, found: found.into(), remedy }
    }
}

/// The level of a check of one master, and what was found.
type Verdict = (Level, String);

/// Checks the Redis servers. Without a connection, there is only one finding.
pub async fn examine_redis(config: &RedisConfig, clock: &dyn Clock) -> Vec<Finding> {
    match Diagnosis::read(config, clock).await {
        Ok(diagnosis) => examine(&diagnosis, config.redis_allow_eviction),
        Err(error) => {
            let found = (Level::Fault, with_causes(&error));
            vec![Finding::new("redis", found, "start Redis, or correct --redis-url")]
        }
    }
}

/// Checks the archive, without migrating its tables.
pub async fn examine_archive(archive: &Archive) -> Vec<Finding> {
    let (place, latest) = (archive.place(), archive::latest_schema());
    let schema = match archive.schema().await {
        Ok(schema) => schema,
        Err(error) => {
            let found = (Level::Fault, format!("{place}: {}", with_causes(&error)));
            return vec![Finding::new("archive", found, "start the database, or correct --archive-url")];
        }
    };
    let verdict = match schema {
        None => (Level::Ok, "no tables yet: the first server creates them".to_owned()),
        Some(found) if found > latest => {
            (Level::Fault, with_causes(&ArchiveError::Newer { found, known: latest }))
        }
        Some(found) if found < latest => {
            (Level::Warning, format!("version {found}: the next server that starts migrates it to {latest}"))
        }
        Some(found) => (Level::Ok, format!("version {found}")),
    };
    let remedy = match verdict.0 {
        Level::Fault => "run the version of Fanfold that used the archive last, or a later one",
        _ => "back up the archive, then run `fanfold serve` of this version",
    };
    vec![Finding::new("archive", (Level::Ok, place), ""), Finding::new("archive schema", verdict, remedy)]
}

fn examine(diagnosis: &Diagnosis, allow_eviction: bool) -> Vec<Finding> {
    let mut findings = vec![
        reachable(diagnosis),
        each(
            "version",
            diagnosis,
            |master| version(master, diagnosis.kind),
            "install Redis 7.2 or newer, or Valkey",
        ),
        each(
            "eviction",
            diagnosis,
            |master| eviction(master, allow_eviction),
            set(diagnosis, "maxmemory-policy", "noeviction"),
        ),
        each(
            "memory",
            diagnosis,
            memory,
            "add memory or masters (`fanfold memory` shows what needs it), or raise maxmemory",
        ),
        each("append-only file", diagnosis, append_only, set(diagnosis, "appendonly", "yes")),
        each("fsync", diagnosis, fsync, set(diagnosis, "appendfsync", "everysec")),
        each("disk", diagnosis, disk, "free some disk space, and see the log of Redis"),
        each("role", diagnosis, role, "name the master in --redis-url"),
        each(
            "replicas",
            diagnosis,
            |master| replicas(master, diagnosis.kind),
            "start a replica with `redis-server --replicaof`, and see its log",
        ),
        min_replicas(diagnosis),
        each(
            "hash encoding",
            diagnosis,
            hash_encoding,
            set(diagnosis, Setting::HashValue.name(), &LONGEST_COMPACT.to_string()),
        ),
        each(
            "list encoding",
            diagnosis,
            list_encoding,
            set(diagnosis, Setting::ZsetEntries.name(), &ZSET_ENTRIES.0.to_string()),
        ),
        each(
            "acl keys",
            diagnosis,
            |master| allowed(master.allows_keys, "keys"),
            "redis-cli ACL SETUSER <user> '~ff:*', with --redis-prefix instead of ff:",
        ),
        each(
            "acl channels",
            diagnosis,
            |master| allowed(master.allows_channels, "channels"),
            "redis-cli ACL SETUSER <user> '&ff:*' +publish +spublish, with --redis-prefix instead of ff:",
        ),
        clocks(diagnosis),
        features(diagnosis),
    ];
    if diagnosis.kind == Kind::Cluster {
        findings.extend([
            coverage(diagnosis),
            slots(diagnosis),
            each(
                "full coverage",
                diagnosis,
                full_coverage,
                set(diagnosis, Setting::FullCoverage.name(), "no"),
            ),
            each(
                "node timeout",
                diagnosis,
                node_timeout,
                set(diagnosis, Setting::NodeTimeout.name(), "15000"),
            ),
        ]);
    }
    findings
}

/// Makes a check of each master. The finding is that of the masters with the worst verdict.
fn each(
    check: &'static str,
    diagnosis: &Diagnosis,
    judge: impl Fn(&Master) -> Verdict,
    remedy: impl Into<String>,
) -> Finding {
    let verdicts: Vec<(&Master, Verdict)> =
        diagnosis.masters.iter().map(|master| (master, judge(master))).collect();
    let Some((_, (worst, found))) = verdicts.iter().max_by_key(|(_, (level, _))| *level) else {
        return Finding::new(check, (Level::Unknown, "no master responds"), remedy);
    };
    let of_worst = verdicts.iter().filter(|(_, (level, _))| level == worst);
    let addresses: Vec<&str> = of_worst.map(|(master, _)| master.address.as_str()).collect();
    let found = match (verdicts.len(), worst) {
        (1, _) | (_, Level::Ok) => found.clone(),
        (all, _) => format!("{found} ({} of {all} masters: {})", addresses.len(), addresses.join(", ")),
    };
    Finding::new(check, (*worst, found), remedy)
}

/// Returns the command that changes a setting of all masters.
fn set(diagnosis: &Diagnosis, name: &str, value: &str) -> String {
    let name = match name.split_once("-ziplist-") {
        Some((start, end)) if diagnosis.masters.iter().all(knows_listpacks) => {
            format!("{start}-listpack-{end}")
        }
        _ => name.to_owned(),
    };
    let set = format!("CONFIG SET {name} {value}");
    match diagnosis.masters.first().filter(|_| diagnosis.kind == Kind::Cluster) {
        Some(master) => format!("redis-cli --cluster call {} {set}; also in redis.conf", master.address),
        None => format!("redis-cli {set}; also in redis.conf"),
    }
}

/// Returns true if a server knows the newer names of settings.
fn knows_listpacks(master: &Master) -> bool {
    master.text("redis_version").is_some_and(|version| check_version(&version, true).is_ok())
}

fn reachable(diagnosis: &Diagnosis) -> Finding {
    let verdict = match diagnosis.silent.first() {
        Some((address, reason)) => (Level::Fault, format!("{address} does not respond: {reason}")),
        None => (Level::Ok, format!("{} responds", masters(diagnosis.masters.len()))),
    };
    Finding::new("redis", verdict, "start this server, or let a replica take over")
}

fn masters(count: usize) -> String {
    if count == 1 { "1 master".to_owned() } else { format!("{count} masters") }
}

fn version(master: &Master, kind: Kind) -> Verdict {
    let version = master.text("redis_version").unwrap_or_default();
    match check_version(&version, kind == Kind::Cluster) {
        Ok(()) => (Level::Ok, version),
        Err(error) => (Level::Fault, error.to_string()),
    }
}

fn eviction(master: &Master, is_allowed: bool) -> Verdict {
    let Some(policy) = master.text("maxmemory_policy") else { return unreported("maxmemory_policy") };
    match check_policy(&policy) {
        Ok(()) => (Level::Ok, policy),
        Err(_) if is_allowed => {
            (Level::Warning, format!("{policy}: Redis may evict data, which --redis-allow-eviction accepts"))
        }
        Err(_) => (Level::Fault, format!("{policy}: Redis may evict data, so servers do not start")),
    }
}

fn memory(master: &Master) -> Verdict {
    let Some((used, limit)) = master.memory() else { return unreported("used_memory") };
    let percent = used.saturating_mul(100) / limit;
    let found = format!("{percent} % of {} MiB are used", limit >> 20);
    match percent {
        _ if percent > USED_MEMORY.1 => {
            (Level::Fault, format!("{found}: soon, Redis will reject all writes"))
        }
        _ if percent > USED_MEMORY.0 => (Level::Warning, found),
        _ => (Level::Ok, found),
    }
}

fn append_only(master: &Master) -> Verdict {
    let Some(is_enabled) = master.number("aof_enabled") else { return unreported("aof_enabled") };
    match (is_enabled, master.setting(Setting::Save)) {
        (0, Some("")) => {
            (Level::Fault, "neither an append-only file nor snapshots: a restart loses all data".to_owned())
        }
        (0, _) => (
            Level::Warning,
            "no append-only file: a restart loses the data since the last snapshot".to_owned(),
        ),
        _ => (Level::Ok, "enabled".to_owned()),
    }
}

fn fsync(master: &Master) -> Verdict {
    match (master.number("aof_enabled"), master.setting(Setting::AppendFsync)) {
        (Some(0), _) => (Level::Ok, "no append-only file".to_owned()),
        (_, None) => hidden(Setting::AppendFsync),
        (_, Some("no")) => (Level::Warning, "no: a power failure may lose half a minute".to_owned()),
        (_, Some(found)) => (Level::Ok, found.to_owned()),
    }
}

fn disk(master: &Master) -> Verdict {
    let checks = ["aof_last_write_status", "aof_last_bgrewrite_status", "rdb_last_bgsave_status"];
    match checks.into_iter().find(|field| master.text(field).is_some_and(|status| status != "ok")) {
        Some(field) => (Level::Fault, format!("the last write to disk failed ({field})")),
        None => (Level::Ok, "the last writes to disk succeeded".to_owned()),
    }
}

fn role(master: &Master) -> Verdict {
    match master.text("role").as_deref() {
        Some("master") => (Level::Ok, "master".to_owned()),
        Some(role) => (Level::Fault, format!("{role}: it rejects writes")),
        None => unreported("role"),
    }
}

fn replicas(master: &Master, kind: Kind) -> Verdict {
    let Some(count) = master.number("connected_slaves") else { return unreported("connected_slaves") };
    let is_behind = |index: &u64| {
        let replica = master.text(&format!("slave{index}")).unwrap_or_default();
        !replica.contains("state=online")
    };
    match (count, (0..count).find(is_behind), kind) {
        (0, _, Kind::Single) => (Level::Ok, "none: back up the data".to_owned()),
        (0, ..) => (Level::Warning, "none: nothing can take over from this master".to_owned()),
        (_, Some(index), _) => (Level::Warning, format!("replica {} of {count} is not online", index + 1)),
        (count, None, _) => (Level::Ok, format!("{count} online")),
    }
}

/// Checks `min-replicas-to-write`. Under Sentinel, a master that is cut off must reject writes, which would be lost.
fn min_replicas(diagnosis: &Diagnosis) -> Finding {
    let judge = |master: &Master| {
        let Some(least) = number(master, Setting::MinReplicas) else { return hidden(Setting::MinReplicas) };
        let connected = master.number("connected_slaves").unwrap_or(0);
        match (least, diagnosis.kind) {
            (0, Kind::Watched) => {
                (Level::Warning, "0: a master that is cut off accepts writes, and loses them".to_owned())
            }
            _ if least > connected => {
                (Level::Fault, format!("{least}, but {connected} are connected: Redis rejects all writes"))
            }
            _ => (Level::Ok, least.to_string()),
        }
    };
    let wanted = if diagnosis.kind == Kind::Watched { "1" } else { "0" };
    each("min-replicas", diagnosis, judge, set(diagnosis, Setting::MinReplicas.name(), wanted))
}

fn hash_encoding(master: &Master) -> Verdict {
    match number(master, Setting::HashValue) {
        None => hidden(Setting::HashValue),
        Some(found) if found < LONGEST_COMPACT => (
            Level::Warning,
            format!("{found} bytes: posts, accounts and sessions take more memory than necessary"),
        ),
        Some(found) => (Level::Ok, format!("{found} bytes")),
    }
}

fn list_encoding(master: &Master) -> Verdict {
    match number(master, Setting::ZsetEntries) {
        None => hidden(Setting::ZsetEntries),
        Some(found) if found < ZSET_ENTRIES.0 => {
            (Level::Warning, format!("{found} entries: follows take more memory than necessary"))
        }
        Some(found) if found > ZSET_ENTRIES.1 => {
            (Level::Warning, format!("{found} entries: follows and relations take more time than measured"))
        }
        Some(found) => (Level::Ok, format!("{found} entries")),
    }
}

fn allowed(is_allowed: bool, what: &str) -> Verdict {
    if is_allowed {
        (Level::Ok, format!("the user may use the {what}"))
    } else {
        (Level::Fault, format!("the ACL does not let the user use the {what} of the prefix"))
    }
}

/// Checks that no two clocks, of the masters and of this machine, are more than a second apart.
fn clocks(diagnosis: &Diagnosis) -> Finding {
    let offsets = diagnosis.masters.iter().filter_map(|master| master.clock_offset);
    let offsets: Vec<i64> = offsets.chain([0]).collect();
    let apart =
        offsets.iter().max().zip(offsets.iter().min()).map_or(0, |(latest, earliest)| latest - earliest);
    let verdict = if offsets.len() <= diagnosis.masters.len() {
        unreported("TIME")
    } else if apart > MOST_CLOCK_OFFSET {
        (Level::Warning, format!("{apart} ms apart: sessions, limits and the order of follows are inexact"))
    } else {
        (Level::Ok, format!("{apart} ms apart"))
    };
    Finding::new("clocks", verdict, "timedatectl set-ntp true, on all machines")
}

fn features(diagnosis: &Diagnosis) -> Finding {
    let verdict = match (diagnosis.check_features(), diagnosis.features.as_deref()) {
        (Err(error), _) => (Level::Fault, error.to_string()),
        (Ok(()), None) => (Level::Ok, "the store is new".to_owned()),
        (Ok(()), Some("")) => (Level::Ok, "none".to_owned()),
        (Ok(()), Some(features)) => (Level::Ok, features.to_owned()),
    };
    Finding::new(
        "features",
        verdict,
        "install the version of Fanfold that used the store last, or a later one",
    )
}

/// Checks that each slot has a master that is not failing.
fn coverage(diagnosis: &Diagnosis) -> Finding {
    let served: usize = diagnosis.slots.iter().map(|(_, slots)| slots).sum();
    let failing = |master: &Master| {
        let fields = ["cluster_slots_pfail", "cluster_slots_fail"];
        fields.iter().filter_map(|field| master.cluster_text(field)?.parse::<usize>().ok()).sum::<usize>()
    };
    let failing = diagnosis.masters.iter().map(failing).max().unwrap_or(0);
    let verdict = if served < SLOTS {
        (Level::Fault, format!("{} of {SLOTS} slots have no master", SLOTS - served))
    } else if failing > 0 {
        (Level::Fault, format!("the master of {failing} slots is failing"))
    } else {
        (Level::Ok, format!("all {SLOTS} slots have a master"))
    };
    Finding::new("coverage", verdict, cluster_command(diagnosis, "fix"))
}

/// Checks that no master has more than one and a half times the slots of another.
fn slots(diagnosis: &Diagnosis) -> Finding {
    let counts = diagnosis.slots.iter().map(|(_, slots)| *slots);
    let (most, least) = (counts.clone().max().unwrap_or(0), counts.min().unwrap_or(0));
    let found = format!("{least} to {most} slots per master");
    let level = if 2 * most > 3 * least { Level::Warning } else { Level::Ok };
    Finding::new("slots", (level, found), cluster_command(diagnosis, "rebalance"))
}

fn cluster_command(diagnosis: &Diagnosis, command: &str) -> String {
    let node = diagnosis.masters.first().map_or("host:port", |master| &master.address);
    format!("redis-cli --cluster {command} {node}")
}

fn full_coverage(master: &Master) -> Verdict {
    match master.setting(Setting::FullCoverage) {
        None => hidden(Setting::FullCoverage),
        Some("no") => (Level::Ok, "not required".to_owned()),
        Some(_) => (Level::Warning, "required: a master that is down stops the whole cluster".to_owned()),
    }
}

fn node_timeout(master: &Master) -> Verdict {
    let (least, most) = NODE_TIMEOUT;
    match number(master, Setting::NodeTimeout) {
        None => hidden(Setting::NodeTimeout),
        Some(found) if found < least => {
            (Level::Warning, format!("{found} ms: a short pause causes a failover"))
        }
        Some(found) if found > most => {
            (Level::Warning, format!("{found} ms: the users of a master that fails wait for longer"))
        }
        Some(found) => (Level::Ok, format!("{found} ms")),
    }
}

fn number(master: &Master, setting: Setting) -> Option<u64> {
    master.setting(setting)?.parse().ok()
}

/// Returns the verdict on a setting that the user may not read.
fn hidden(setting: Setting) -> Verdict {
    (Level::Unknown, format!("Redis does not let the user read {} (CONFIG GET)", setting.name()))
}

fn unreported(field: &str) -> Verdict {
    (Level::Unknown, format!("Redis does not report {field}"))
}
