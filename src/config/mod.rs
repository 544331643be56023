//! Defines all options. The doc comments are the text of `--help`.
//!
//! An option has one name in two spellings: `--relation-strategy` on the command line and `FANFOLD_RELATION_STRATEGY`
//! in the environment. Each layer receives its section by value. No option is required: the server starts without any
//! configuration.

mod account;
mod budget;
mod client;
mod value;

use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};
use ipnet::IpNet;

pub use crate::config::account::AccountConfig;
pub use crate::config::budget::BudgetConfig;
pub use crate::config::client::ClientConfig;
pub use crate::config::value::SecretUrl;
use crate::config::value::{collector, host, key_prefix, media_host, network, origin};

/// Options of all commands that read or write data.
#[derive(Args, Clone, Debug)]
pub struct DataConfig {
    /// Redis and the data directory.
    #[command(flatten)]
    pub redis: RedisConfig,
    /// Application rules.
    #[command(flatten)]
    pub rules: RulesConfig,
    /// The archive's database.
    #[command(flatten)]
    pub archive: ArchiveConfig,
}

/// Application rules that operators can change.
#[derive(Args, Clone, Debug)]
pub struct RulesConfig {
    /// Relations between users.
    #[command(flatten)]
    pub relation: RelationConfig,
    /// Accounts and sessions.
    #[command(flatten)]
    pub account: AccountConfig,
    /// Posts and timelines.
    #[command(flatten)]
    pub timeline: TimelineConfig,
    /// Visits and profile views.
    #[command(flatten)]
    pub visit: VisitConfig,
    /// Pictures.
    #[command(flatten)]
    pub media: MediaConfig,
}

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
    /// Takes effect when the store is first used, and is fixed from then on. In a cluster, the partitions are on different
    /// masters. Each server process has a worker, with connections of its own, for each partition.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_DELIVERY_PARTITIONS")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=256))]
    pub redis_delivery_partitions: Option<u32>,

    /// Read replicas of a Redis Cluster that are less than five seconds behind.
    ///
    /// Queries read others' records, posts and follow lists from them, and show these up to five seconds late. What a user
    /// has written shows to that user at once.
    #[arg(long, env = "FANFOLD_REDIS_REPLICA_READS")]
    pub redis_replica_reads: bool,

    /// Accept a Redis server whose maxmemory-policy evicts data.
    #[arg(long, env = "FANFOLD_REDIS_ALLOW_EVICTION")]
    pub redis_allow_eviction: bool,
}

/// Options of the archive.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Archive")]
pub struct ArchiveConfig {
    /// SQL database for old posts and visitor counts of past days [default: archive.db in the data directory].
    ///
    /// sqlite:path, mysql://user:password@host/database (also mariadb://), or postgres://user:password@host/database.
    /// Fanfold creates its tables on first use. Servers on several machines need a database that all of them can reach.
    #[arg(long, value_name = "URL", env = "FANFOLD_ARCHIVE_URL", hide_env_values = true)]
    pub archive_url: Option<SecretUrl>,

    /// Maximum number of connections to the archive.
    #[arg(long, value_name = "N", env = "FANFOLD_ARCHIVE_CONNECTIONS", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub archive_connections: u32,
}

impl ArchiveConfig {
    /// Returns the URL, including the password; `None` if the archive is in the data directory.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        // An empty environment variable counts as unset.
        self.archive_url.as_ref().map(SecretUrl::expose).filter(|url| !url.is_empty())
    }
}

/// Options of relations.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Relations")]
pub struct RelationConfig {
    /// Algorithm that looks up the viewer's relations to a page of users. Does not affect results.
    #[arg(long, value_name = "NAME", env = "FANFOLD_RELATION_STRATEGY", default_value = "zinterstore")]
    pub relation_strategy: RelationStrategy,

    /// Maximum number of users that one user can follow.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_FOLLOW_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub relation_follow_limit: u32,

    /// Maximum number of users that one user can mute.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_MUTE_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub relation_mute_limit: u32,

    /// Maximum size of this process's cache of the users whom viewers have muted, in bytes.
    #[arg(
        long,
        value_name = "BYTES",
        env = "FANFOLD_RELATION_EXCLUSION_CACHE",
        default_value_t = 67_108_864
    )]
    #[arg(value_parser = clap::value_parser!(u64).range(0..=1_099_511_627_776))]
    pub relation_exclusion_cache: u64,
}

/// An algorithm that looks up the viewer's relations to a page of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelationStrategy {
    /// Intersect the page with the viewer's lists in Redis.
    Zinterstore,
    /// Look up each user of the page in the viewer's lists, without writes.
    Zmscore,
}

/// Options of pictures, which are stored elsewhere.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Media")]
pub struct MediaConfig {
    /// Hosts that users' pictures may be on, such as pictures.example.org, separated by commas; without this option, users
    /// have no pictures.
    ///
    /// Clients load the pictures from these hosts, which thus receive the addresses of readers. The server does not
    /// connect to them.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_MEDIA_HOSTS", value_delimiter = ',')]
    #[arg(value_parser = media_host)]
    pub media_hosts: Vec<String>,
}

/// Options of posts and timelines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct TimelineConfig {
    /// Method that delivers posts to home timelines. Does not affect their content.
    ///
    /// All processes of a deployment must use the same method. To change it, stop them all first.
    #[arg(long, value_name = "NAME", env = "FANFOLD_TIMELINE_STRATEGY", default_value = "hybrid")]
    pub timeline_strategy: TimelineStrategy,

    /// Number of followers above which an author's posts are not pushed to timelines, but pulled when a timeline is
    /// read.
    ///
    /// Once an author has exceeded this number, the author's posts are always pulled. Applies only to
    /// --timeline-strategy hybrid.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_PUSH_LIMIT", default_value_t = 10_000)]
    pub timeline_push_limit: u64,

    /// Maximum number of posts in a stored home timeline. Older posts are collected from their authors on demand.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_CAPACITY", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub timeline_capacity: u32,

    /// Lifetime of a stored home timeline after its last read, in days.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_TIMELINE_ACTIVITY", default_value_t = 21)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub timeline_activity: u32,

    /// Maximum age of the watermark and the list of stars that timeline reads share, in milliseconds.
    ///
    /// For so long, a timeline may lack the first post of an author whose number of followers has just exceeded
    /// --timeline-push-limit, published through another server. All timelines read them from one slot of Redis.
    #[arg(long, value_name = "MILLISECONDS", env = "FANFOLD_TIMELINE_WATERMARK_AGE", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000))]
    pub timeline_watermark_age: u32,

    /// Maximum posts published per author per hour.
    ///
    /// A retry with the same idempotency key does not count. Imports are not limited.
    #[arg(long, value_name = "N", env = "FANFOLD_PUBLISHES_PER_AUTHOR", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub publishes_per_author: u32,

    /// Maximum number of posts per author in Redis; older posts are archived.
    #[arg(long, value_name = "N", env = "FANFOLD_POST_HOT_LIMIT", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub post_hot_limit: u32,
}

impl TimelineConfig {
    /// Returns a stored timeline's time to live after its last read, in seconds.
    #[must_use]
    pub fn lifetime_seconds(&self) -> u64 {
        u64::from(self.timeline_activity) * 86_400
    }
}

/// A method that delivers posts to home timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimelineStrategy {
    /// Push posts to followers, but pull the posts of authors above --timeline-push-limit.
    Hybrid,
    /// Push posts to all followers.
    Push,
    /// Pull all posts when a timeline is read.
    Pull,
}

impl TimelineStrategy {
    /// Returns the strategy's name, as on the command line.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Push => "push",
            Self::Pull => "pull",
        }
    }
}

/// Options of visits and profile views.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Visits")]
pub struct VisitConfig {
    /// Expected number of daily visitors.
    ///
    /// Takes effect with the first visitor of each day. Exceeding this number by over 50 % costs memory, not
    /// correctness; fewer visitors cost nothing.
    #[arg(long, value_name = "N", env = "FANFOLD_VISITS_EXPECTED", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub visits_expected: u64,

    /// Record profile views for one month, and report them to the viewed users as their audience.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_AUDIENCE", default_value = "on")]
    pub audience: Switch,
}

/// Options for a server's background tasks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct DutyConfig {
    /// Deliver posts to timelines in the server, instead of leaving that to `fanfold deliver`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_DELIVER", default_value = "on")]
    pub deliver: Switch,

    /// Archive old posts and past days in the server, instead of leaving that to `fanfold archive run`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_ARCHIVE", default_value = "on")]
    pub archive: Switch,
}

/// The value of an option that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}

/// Options of the API.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "API")]
pub struct GraphqlConfig {
    /// Maximum predicted cost of an operation: 1 per object and 0.1 per other field.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COST_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub graphql_cost_limit: u64,

    /// An operation's budget.
    #[command(flatten)]
    pub budget: BudgetConfig,

    /// Maximum total cost of operations per user per minute [default: no limit].
    ///
    /// Anonymous clients are limited by address. Behind a proxy, --http-trusted-proxies determines the address. The
    /// maximum burst is this limit or the maximum cost of one operation, whichever is greater.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_RATE_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub graphql_rate_limit: Option<u32>,

    /// Timeout of a query, in seconds.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_GRAPHQL_QUERY_TIMEOUT", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub graphql_query_timeout: u32,

    /// Timeout of a mutation, in seconds. The mutation runs to completion, but its client receives an error.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_GRAPHQL_MUTATION_TIMEOUT", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub graphql_mutation_timeout: u32,

    /// Allow introspection queries. /schema.graphql serves the schema in any case.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_INTROSPECTION", default_value = "on")]
    pub graphql_introspection: Switch,

    /// Cache documents that clients send with a hash, so that clients can then send the hash alone.
    ///
    /// This is Apollo's protocol of automatic persisted queries (APQ). Each process caches some megabytes of documents.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_PERSISTED_QUERIES", default_value = "on")]
    pub graphql_persisted_queries: Switch,

    /// Files of trusted documents, which clients send by hash, such as persisted-documents.json, separated by commas.
    ///
    /// Code generators write such files: a JSON object that maps the SHA-256 of each document, with or without the
    /// prefix sha256:, to the document. The server validates the documents at start, and reads the files again when
    /// one of them changes and on SIGHUP. If a file is then missing or invalid, the former documents of all files stay
    /// in use. Trusted documents may use introspection even with --graphql-introspection off.
    #[arg(long, value_name = "FILES", env = "FANFOLD_GRAPHQL_TRUSTED_DOCUMENTS", value_delimiter = ',')]
    pub graphql_trusted_documents: Vec<PathBuf>,

    /// Role of trusted documents.
    #[arg(long, value_name = "MODE", env = "FANFOLD_GRAPHQL_TRUSTED_MODE", default_value = "prefer")]
    pub graphql_trusted_mode: TrustedMode,
}

/// The role of trusted documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrustedMode {
    /// Do not read the files.
    Off,
    /// Accept trusted documents by hash, and other documents in full.
    Prefer,
    /// Accept only trusted documents.
    Only,
}

impl GraphqlConfig {
    /// Returns the files of trusted documents; none if the server does not use them.
    #[must_use]
    pub fn trusted_files(&self) -> &[PathBuf] {
        match self.graphql_trusted_mode {
            TrustedMode::Off => &[],
            TrustedMode::Prefer | TrustedMode::Only => &self.graphql_trusted_documents,
        }
    }

    /// Returns the timeout of a query.
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_query_timeout.into())
    }

    /// Returns the timeout of a mutation, after which its client receives an error.
    #[must_use]
    pub fn mutation_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_mutation_timeout.into())
    }
}

/// Options of the HTTP server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct HttpConfig {
    /// Address and port to listen on; port 0 chooses a free port.
    #[arg(long, value_name = "ADDRESS", env = "FANFOLD_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Number of threads that serve requests [default: the number of processors].
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_THREADS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub http_threads: Option<u16>,

    /// Maximum size of a request body, in bytes.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_HTTP_BODY_LIMIT", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_024..=16_777_216))]
    pub http_body_limit: u64,

    /// Maximum number of operations in a batch, which is a JSON array; 0 disables batches.
    ///
    /// The operations of a batch share the cost limit and the budget of a single operation. Consecutive queries run
    /// concurrently, mutations sequentially.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_BATCH_LIMIT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=10))]
    pub http_batch_limit: u8,

    /// `max-age` of publicly cacheable responses, in seconds; 0 disables caching.
    ///
    /// Cacheable responses are those to anonymous GET queries that select nothing viewer-dependent.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_PUBLIC_MAX_AGE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub http_public_max_age: u32,

    /// Origins whose pages may send requests, such as <https://app.example.org>, separated by commas; * allows all.
    ///
    /// The server's own pages may always send requests. A server that listens on a loopback address also accepts pages
    /// of all sites on the same machine, and requests for its address and localhost. Behind a proxy that forwards
    /// another host name, list the origin with that name as well.
    #[arg(long, value_name = "ORIGINS", env = "FANFOLD_HTTP_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_parser = origin)]
    pub http_cors_origins: Vec<String>,

    /// Host names that this server accepts, such as feed.example.org, separated by commas [default: any].
    ///
    /// The server rejects requests for any other name with 421, except for /healthz and /readyz. A name without a port
    /// matches all ports. By default, a server that listens on a loopback address accepts its address and localhost.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_HTTP_HOSTS", value_delimiter = ',', value_parser = host)]
    pub http_hosts: Vec<String>,

    /// Proxies in front of this server, such as 10.0.0.0/8 or 192.0.2.7, separated by commas.
    ///
    /// The server attributes a request from a listed proxy to the last address in X-Forwarded-For that is not a listed
    /// proxy. Behind an unlisted proxy, all clients share one address and exhaust each other's limits.
    #[arg(long, value_name = "NETWORKS", env = "FANFOLD_HTTP_TRUSTED_PROXIES", value_delimiter = ',')]
    #[arg(value_parser = network)]
    pub http_trusted_proxies: Vec<IpNet>,

    /// Timeout of an idle connection, and of reading a request head, in seconds.
    ///
    /// A proxy that keeps connections open should have a shorter idle timeout.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_IDLE_TIMEOUT", default_value_t = 75)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub http_idle_timeout: u32,

    /// Maximum number of open WebSockets and event streams in this process.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub http_sockets: u32,

    /// Limits per client in this process.
    #[command(flatten)]
    pub clients: ClientConfig,

    /// Timeout for requests in progress when the server stops, in seconds.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_SHUTDOWN_TIMEOUT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub http_shutdown_timeout: u32,
}

impl HttpConfig {
    /// Returns the timeout for requests in progress when the server stops.
    #[must_use]
    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.http_shutdown_timeout.into())
    }
}

/// Options of the log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Format of the log, which goes to standard error.
    #[arg(long, value_name = "FORM", env = "FANFOLD_LOG", default_value = "text")]
    pub log: LogForm,

    /// Log a line for each request, with its type, duration and outcome.
    ///
    /// Equivalent to fanfold::http::log=debug in --log-filter.
    #[arg(long, env = "FANFOLD_LOG_REQUESTS")]
    pub log_requests: bool,

    /// Log level (error, warn, info, debug, trace), optionally per module, as in info,fanfold::store=debug.
    #[arg(long, value_name = "FILTER", env = "FANFOLD_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// Options of traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct TraceConfig {
    /// OpenTelemetry collector that receives traces of requests, such as <http://127.0.0.1:4318>.
    ///
    /// The server sends traces by OTLP over HTTP, as protobuf. OpenTelemetry's own variables (OTEL_TRACES_SAMPLER,
    /// OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS …) configure sampling and the description of the service.
    #[arg(long, value_name = "URL", env = "FANFOLD_OTLP_ENDPOINT", value_parser = collector)]
    pub otlp_endpoint: Option<String>,
}

impl TraceConfig {
    /// Returns the collector's URL; `None` if traces are disabled.
    #[must_use]
    pub fn collector(&self) -> Option<&str> {
        // An empty environment variable counts as unset.
        self.otlp_endpoint.as_deref().filter(|url| !url.is_empty())
    }
}

/// A format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// A line of text per event.
    Text,
    /// A JSON object per event, each on one line.
    Json,
}
