//! Options of Redis and the data directory.

use std::path::PathBuf;

use clap::Args;

use crate::config::value::{SecretUrl, key_prefix};

/// Options of Redis and the data directory.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct RedisConfig {
    /// URL of a Redis or Valkey server, version 6.2 or newer, of its sentinels, or of a cluster, version 7.0 or newer.
    ///
    /// redis://user:password@host:port/db, rediss://… for TLS, or unix:/path?user=…&pass=…. A cluster has a URL such as
    /// redis-cluster://user:password@host:port,host:port, and a master watched by Sentinel one such as
    /// redis-sentinel://user:password@host:port,host:port/name/db. TLS trusts the system's
    /// certificates, or those in the file named by SSL_CERT_FILE. Without this option, Fanfold starts its own
    /// redis-server in the data directory.
    #[arg(long, value_name = "URL", env = "FANFOLD_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<SecretUrl>,

    /// Directory for the data of Fanfold's own redis-server (without --redis-url) and for the archive (without
    /// --archive-url).
    #[arg(long, value_name = "DIR", env = "FANFOLD_DATA_DIR", default_value = "fanfold-data")]
    pub data_dir: PathBuf,

    /// Prefix of all keys, so that several deployments can share one Redis server.
    #[arg(long, value_name = "TEXT", env = "FANFOLD_REDIS_PREFIX", default_value = "ff:")]
    #[arg(value_parser = key_prefix)]
    pub redis_prefix: String,

    /// Number of connections to Redis per thread that serves requests. Each serves many requests concurrently.
    ///
    /// More than one is rarely faster: the fewer connections, the more requests each can send together.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_CONNECTIONS", default_value_t = 1)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub redis_connections: u32,

    /// Maximum size of this process's cache of users' records, names and sessions, in bytes; 0 disables it.
    ///
    /// Redis reports changes to what is cached, so that other processes' changes show within milliseconds, and this
    /// process's changes at once. Saves Redis the reads of users who are read often.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_REDIS_USER_CACHE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_099_511_627_776))]
    pub redis_user_cache: u64,

    /// Expected number of users, which determines the layout of the username index.
    ///
    /// Takes effect when the store is first used, and is fixed from then on. Exceeding this number costs memory, not
    /// correctness.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_EXPECTED_USERS", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub redis_expected_users: u64,

    /// Number of partitions of the queues of deliveries [default: 4, 16 for a cluster].
    ///
    /// Takes effect when the store is first used, and is fixed from then on. In a cluster, the partitions are on
    /// different masters. Each server process has a worker, with connections of its own, for each partition.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_DELIVERY_PARTITIONS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    pub redis_delivery_partitions: Option<u32>,

    /// Read replicas of a Redis Cluster that are less than five seconds behind.
    ///
    /// Queries read others' records, posts and follow lists from them, and show these up to five seconds late. What a
    /// user has written shows to that user at once.
    #[arg(long, env = "FANFOLD_REDIS_REPLICA_READS")]
    pub redis_replica_reads: bool,

    /// Accept a Redis server whose maxmemory-policy evicts data.
    #[arg(long, env = "FANFOLD_REDIS_ALLOW_EVICTION")]
    pub redis_allow_eviction: bool,
}
