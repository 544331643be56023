//! All options on one page: the doc comments are the text of `--help`.
//!
//! An option has one name in two spellings: `--relation-strategy` on the command line and
//! `FANFOLD_RELATION_STRATEGY` in the environment. Each layer receives its section by value. Every option has a default:
//! the server starts without any configuration.

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
use crate::config::value::{collector, host, key_prefix, network, origin};

/// Options of every command that works on data.
#[derive(Args, Clone, Debug)]
pub struct DataConfig {
    /// Redis.
    #[command(flatten)]
    pub redis: RedisConfig,
    /// Rules of the application.
    #[command(flatten)]
    pub rules: RulesConfig,
    /// The archive.
    #[command(flatten)]
    pub archive: ArchiveConfig,
}

/// Rules that an operator may set.
#[derive(Args, Clone, Debug)]
pub struct RulesConfig {
    /// Relations.
    #[command(flatten)]
    pub relation: RelationConfig,
    /// Accounts and sessions.
    #[command(flatten)]
    pub account: AccountConfig,
    /// Posts and timelines.
    #[command(flatten)]
    pub timeline: TimelineConfig,
    /// Visits.
    #[command(flatten)]
    pub visit: VisitConfig,
}

/// Options of Redis and the data directory.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct RedisConfig {
    /// URL of Redis (or Valkey) 6.2 or newer.
    ///
    /// redis://user:password@host:port/db, rediss://… for TLS, or unix:/path?user=…&pass=….
    /// TLS trusts the system's certificates, or those in the file named by SSL_CERT_FILE.
    /// Without this option, Fanfold starts a redis-server of its own in the data directory.
    #[arg(long, value_name = "URL", env = "FANFOLD_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<SecretUrl>,

    /// Directory for the data of Fanfold's own redis-server (without --redis-url) and for the archive (without
    /// --archive-url).
    #[arg(long, value_name = "DIR", env = "FANFOLD_DATA_DIR", default_value = "fanfold-data")]
    pub data_dir: PathBuf,

    /// Prefix of all keys, so that several deployments can share one Redis.
    #[arg(long, value_name = "TEXT", env = "FANFOLD_REDIS_PREFIX", default_value = "ff:")]
    #[arg(value_parser = key_prefix)]
    pub redis_prefix: String,

    /// Connections to Redis. Each serves many requests concurrently.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_CONNECTIONS", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub redis_connections: u32,

    /// Number of users that the username index is laid out for.
    ///
    /// Takes effect when the store is first used, and is fixed from then on. Exceeding it costs memory, not
    /// correctness.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_EXPECTED_USERS", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub redis_expected_users: u64,

    /// Accept a Redis whose maxmemory-policy evicts data.
    #[arg(long, env = "FANFOLD_REDIS_ALLOW_EVICTION")]
    pub redis_allow_eviction: bool,
}

/// Options of the archive.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Archive")]
pub struct ArchiveConfig {
    /// SQL database for old posts and visitor counts of past days [default: archive.db in the data directory].
    ///
    /// sqlite:path, mysql://user:password@host/database (also mariadb://), or
    /// postgres://user:password@host/database. Its tables are created on first use. Servers on several
    /// machines need a database that all of them reach.
    #[arg(long, value_name = "URL", env = "FANFOLD_ARCHIVE_URL", hide_env_values = true)]
    pub archive_url: Option<SecretUrl>,

    /// Connections to the archive.
    #[arg(long, value_name = "N", env = "FANFOLD_ARCHIVE_CONNECTIONS", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub archive_connections: u32,
}

impl ArchiveConfig {
    /// Returns the URL, including the password; `None` if the archive is in the data directory.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        // An empty variable in the environment is one that is not set.
        self.archive_url.as_ref().map(SecretUrl::expose).filter(|url| !url.is_empty())
    }
}

/// Options of relations.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Relations")]
pub struct RelationConfig {
    /// Algorithm that finds the relations of a page of users. Results do not depend on it.
    #[arg(long, value_name = "NAME", env = "FANFOLD_RELATION_STRATEGY", default_value = "zinterstore")]
    pub relation_strategy: RelationStrategy,

    /// Maximum number of users that one user may follow.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_FOLLOW_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub relation_follow_limit: u32,
}

/// An algorithm that finds the relations of a page of users.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelationStrategy {
    /// Intersect the page with the viewer's lists in Redis.
    Zinterstore,
    /// Look up each user of the page in the viewer's lists, without writes.
    Zmscore,
}

/// Options of posts and timelines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct TimelineConfig {
    /// Method that delivers posts to home timelines. Timelines do not depend on it.
    ///
    /// All processes of a deployment must use the same one: to change it, stop them all first.
    #[arg(long, value_name = "NAME", env = "FANFOLD_TIMELINE_STRATEGY", default_value = "hybrid")]
    pub timeline_strategy: TimelineStrategy,

    /// Number of followers above which an author's posts are pulled by readers, not pushed.
    ///
    /// An author who has exceeded it once stays pulled. Applies to --timeline-strategy hybrid only.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_PUSH_LIMIT", default_value_t = 10_000)]
    pub timeline_push_limit: u64,

    /// Posts that a stored home timeline holds. Older ones are collected from their authors on demand.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_CAPACITY", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub timeline_capacity: u32,

    /// Days after its last read when a stored home timeline expires.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_TIMELINE_ACTIVITY", default_value_t = 21)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub timeline_activity: u32,

    /// Posts that one author may publish in an hour.
    ///
    /// A retry with the same idempotency key does not count. Imports are not limited.
    #[arg(long, value_name = "N", env = "FANFOLD_PUBLISHES_PER_AUTHOR", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub publishes_per_author: u32,

    /// Posts per author that stay in Redis; older ones are archived.
    #[arg(long, value_name = "N", env = "FANFOLD_POST_HOT_LIMIT", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub post_hot_limit: u32,
}

impl TimelineConfig {
    /// Returns the time to live of a stored timeline after its last read, in seconds.
    #[must_use]
    pub fn lifetime_seconds(&self) -> u64 {
        u64::from(self.timeline_activity) * 86_400
    }
}

/// A method that delivers posts to home timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimelineStrategy {
    /// Push posts to followers; pull those of authors with very many followers.
    Hybrid,
    /// Push posts to all followers.
    Push,
    /// Pull posts when a timeline is read.
    Pull,
}

impl TimelineStrategy {
    /// Returns its name.
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
    /// A day is laid out when its first visitor arrives. Exceeding this by over 50 % costs memory, not correctness;
    /// fewer visitors cost nothing.
    #[arg(long, value_name = "N", env = "FANFOLD_VISITS_EXPECTED", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub visits_expected: u64,

    /// Record profile views for one month, and report them to the viewed users as their audience.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_AUDIENCE", default_value = "on")]
    pub audience: Switch,
}

/// Options of the background work of a server.
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

/// A switch.
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
    /// Maximum predicted cost of an operation: 1 for an object and 0.1 for any other field.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COST_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub graphql_cost_limit: u64,

    /// The budget of an operation.
    #[command(flatten)]
    pub budget: BudgetConfig,

    /// Maximum cost of the operations of one user in a minute [default: no limit].
    ///
    /// Anonymous clients are counted by address; behind a proxy, --http-trusted-proxies determines it. The same amount,
    /// and at least the maximum cost of one operation, may be used in a burst.
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

    /// Allow introspection queries. The schema is at /schema.graphql in any case.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_INTROSPECTION", default_value = "on")]
    pub graphql_introspection: Switch,

    /// Cache documents that clients send with their hash, so that the hash suffices from then on.
    ///
    /// These are the automatic persisted queries of Apollo's clients. Each process caches some megabytes of them.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_PERSISTED_QUERIES", default_value = "on")]
    pub graphql_persisted_queries: Switch,

    /// File of trusted documents, which clients send by hash: persisted-documents.json, as code generators write it.
    ///
    /// A JSON object that maps the SHA-256 of each document, with or without the prefix sha256:, to the document. The
    /// documents are validated at start, and may use introspection even with --graphql-introspection off.
    #[arg(long, value_name = "FILE", env = "FANFOLD_GRAPHQL_TRUSTED_DOCUMENTS")]
    pub graphql_trusted_documents: Option<PathBuf>,

    /// Use of the trusted documents.
    #[arg(long, value_name = "MODE", env = "FANFOLD_GRAPHQL_TRUSTED_MODE", default_value = "prefer")]
    pub graphql_trusted_mode: TrustedMode,
}

/// A use of trusted documents.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrustedMode {
    /// Do not read the file.
    Off,
    /// Accept trusted documents by hash, and others in full.
    Prefer,
    /// Accept trusted documents only.
    Only,
}

impl GraphqlConfig {
    /// Returns the timeout of a query.
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_query_timeout.into())
    }

    /// Returns the timeout after which a client no longer waits for a mutation.
    #[must_use]
    pub fn mutation_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_mutation_timeout.into())
    }
}

/// Options of the HTTP server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct HttpConfig {
    /// Address and port to listen on; port 0 chooses a free one.
    #[arg(long, value_name = "ADDRESS", env = "FANFOLD_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Maximum size of a request body, in bytes.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_HTTP_BODY_LIMIT", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_024..=16_777_216))]
    pub http_body_limit: u64,

    /// Maximum number of operations in a batch, which is a JSON array; 0 disables batches.
    ///
    /// The operations of a batch share the cost limit and the budget of one. Consecutive queries are executed
    /// concurrently, mutations one after the other.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_BATCH_LIMIT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=10))]
    pub http_batch_limit: u8,

    /// `max-age` of publicly cacheable responses, in seconds; 0 disables caching.
    ///
    /// These are the responses to anonymous GET queries that select nothing that depends on the viewer.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_PUBLIC_MAX_AGE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub http_public_max_age: u32,

    /// Origins whose pages may send requests, such as <https://app.example.org>, separated by commas; * for all.
    ///
    /// The server's own pages always may. A server that listens on a loopback address also accepts all pages of the same
    /// machine, and is known by its address and as localhost; behind a proxy that forwards another name, list that, too.
    #[arg(long, value_name = "ORIGINS", env = "FANFOLD_HTTP_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_parser = origin)]
    pub http_cors_origins: Vec<String>,

    /// Names that this server answers to, such as feed.example.org, separated by commas [default: any].
    ///
    /// A request for any other name is rejected (421), except for /healthz and /readyz. A name without a port matches all
    /// ports. By default, a server that listens on a loopback address is known by its address and as localhost.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_HTTP_HOSTS", value_delimiter = ',', value_parser = host)]
    pub http_hosts: Vec<String>,

    /// Proxies in front of this server, such as 10.0.0.0/8 or 192.0.2.7, separated by commas.
    ///
    /// A request from one of them is attributed to the last address in X-Forwarded-For that is not a proxy. Behind a proxy
    /// that is not listed, all clients share one address, and exhaust each other's limits.
    #[arg(long, value_name = "NETWORKS", env = "FANFOLD_HTTP_TRUSTED_PROXIES", value_delimiter = ',')]
    #[arg(value_parser = network)]
    pub http_trusted_proxies: Vec<IpNet>,

    /// Seconds that a connection may be idle, or may take to send the head of a request.
    ///
    /// A proxy that keeps connections open should close them earlier.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_IDLE_TIMEOUT", default_value_t = 75)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub http_idle_timeout: u32,

    /// Maximum number of open WebSockets and event streams.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub http_sockets: u32,

    /// Limits per client.
    #[command(flatten)]
    pub clients: ClientConfig,

    /// Seconds that requests in progress have to finish when the server stops.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_SHUTDOWN_TIMEOUT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub http_shutdown_timeout: u32,
}

impl HttpConfig {
    /// Returns the time that requests in progress have to finish.
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

    /// Log a line for each request: its kind, its duration and its outcome.
    ///
    /// Equivalent to fanfold::http::log=debug in the --log-filter.
    #[arg(long, env = "FANFOLD_LOG_REQUESTS")]
    pub log_requests: bool,

    /// Log level (error, warn, info, debug, trace), optionally per module as in
    /// info,fanfold::store=debug.
    #[arg(long, value_name = "FILTER", env = "FANFOLD_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// Options of traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct TraceConfig {
    /// OpenTelemetry collector that receives traces of requests, such as <http://127.0.0.1:4318>.
    ///
    /// Traces are sent by OTLP over HTTP, as protobuf. OpenTelemetry's own variables (OTEL_TRACES_SAMPLER,
    /// OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS …) configure sampling and the description of the service.
    #[arg(long, value_name = "URL", env = "FANFOLD_OTLP_ENDPOINT", value_parser = collector)]
    pub otlp_endpoint: Option<String>,
}

impl TraceConfig {
    /// Returns the URL of the collector, if there is one.
    #[must_use]
    pub fn collector(&self) -> Option<&str> {
        // An empty variable in the environment is one that is not set.
        self.otlp_endpoint.as_deref().filter(|url| !url.is_empty())
    }
}

/// A format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Lines of text.
    Text,
    /// A JSON object per line.
    Json,
}
