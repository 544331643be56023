//! Every knob, on one page: this is what `--help` prints.
//!
//! A knob has one name in three spellings: `relation.strategy` in text, `--relation-strategy` on the
//! command line, `FANFOLD_RELATION_STRATEGY` in the environment. A storey is given its section by
//! value. Nothing needs to be set: the server starts with no configuration at all.

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

/// What every command that works on data takes.
#[derive(Args, Clone, Debug)]
pub struct DataConfig {
    /// Where the data is.
    #[command(flatten)]
    pub redis: RedisConfig,
    /// The rules that hold for it.
    #[command(flatten)]
    pub rules: RulesConfig,
    /// Where old posts are.
    #[command(flatten)]
    pub archive: ArchiveConfig,
}

/// The rules that an operator may set.
#[derive(Args, Clone, Debug)]
pub struct RulesConfig {
    /// How users relate.
    #[command(flatten)]
    pub relation: RelationConfig,
    /// Accounts and sessions.
    #[command(flatten)]
    pub account: AccountConfig,
    /// Posts and timelines.
    #[command(flatten)]
    pub timeline: TimelineConfig,
    /// Who came.
    #[command(flatten)]
    pub visit: VisitConfig,
}

/// Where the data is.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Data")]
pub struct RedisConfig {
    /// Redis (or Valkey) 6.2 or newer that keeps the data.
    ///
    /// redis://user:password@host:port/db, rediss://… with TLS, or unix:/path?user=…&pass=….
    /// For TLS the system's certificates are trusted, or those in the file that SSL_CERT_FILE names.
    /// Without it, Fanfold starts a redis-server of its own in the data directory.
    #[arg(long, value_name = "URL", env = "FANFOLD_REDIS_URL", hide_env_values = true)]
    pub redis_url: Option<SecretUrl>,

    /// Directory for the data of Fanfold's own redis-server, unless there is a --redis-url, and for the
    /// archive, unless there is an --archive-url.
    #[arg(long, value_name = "DIR", env = "FANFOLD_DATA_DIR", default_value = "fanfold-data")]
    pub data_dir: PathBuf,

    /// What every key begins with, so that several deployments can share one Redis.
    #[arg(long, value_name = "TEXT", env = "FANFOLD_REDIS_PREFIX", default_value = "ff:")]
    #[arg(value_parser = key_prefix)]
    pub redis_prefix: String,

    /// Connections to Redis. Each serves many requests at once.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_CONNECTIONS", default_value_t = 4)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000))]
    pub redis_connections: u32,

    /// How many users to lay the username index out for.
    ///
    /// Takes effect when the store is first used and is kept from then on. More users than this
    /// cost memory, not correctness.
    #[arg(long, value_name = "N", env = "FANFOLD_REDIS_EXPECTED_USERS", default_value_t = 1_000_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000_000))]
    pub redis_expected_users: u64,

    /// Accept a Redis that may throw data away when its memory is full.
    #[arg(long, env = "FANFOLD_REDIS_ALLOW_EVICTION")]
    pub redis_allow_eviction: bool,
}

/// Where old posts are.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Archive")]
pub struct ArchiveConfig {
    /// SQL database for old posts, and for how many came on past days [default: archive.db in the data directory].
    ///
    /// sqlite:path, mysql://user:password@host/database (also mariadb://), or
    /// postgres://user:password@host/database. Its tables are made when it is first used. Servers on several
    /// machines need one that all of them reach.
    #[arg(long, value_name = "URL", env = "FANFOLD_ARCHIVE_URL", hide_env_values = true)]
    pub archive_url: Option<SecretUrl>,

    /// Connections to the archive.
    #[arg(long, value_name = "N", env = "FANFOLD_ARCHIVE_CONNECTIONS", default_value_t = 8)]
    #[arg(value_parser = clap::value_parser!(u32).range(2..=1_000))]
    pub archive_connections: u32,
}

impl ArchiveConfig {
    /// The URL, password and all; `None` if the archive is in the data directory.
    #[must_use]
    pub fn url(&self) -> Option<&str> {
        // An empty variable in the environment is one that is not set.
        self.archive_url.as_ref().map(SecretUrl::expose).filter(|url| !url.is_empty())
    }
}

/// How users relate.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Relations")]
pub struct RelationConfig {
    /// How the relations of a page of users are found. The answers are the same.
    #[arg(long, value_name = "NAME", env = "FANFOLD_RELATION_STRATEGY", default_value = "zinterstore")]
    pub relation_strategy: RelationStrategy,

    /// How many users one user may follow.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_FOLLOW_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub relation_follow_limit: u32,
}

/// How the relations of a page of users are found.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum RelationStrategy {
    /// Intersect the page with the viewer's lists, in Redis.
    Zinterstore,
    /// Look each user of the page up in the viewer's lists: no writes.
    Zmscore,
}

/// Posts and timelines.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct TimelineConfig {
    /// How posts come to home timelines. The timelines are the same.
    ///
    /// All processes of a deployment must have the same one: to change it, stop them all first.
    #[arg(long, value_name = "NAME", env = "FANFOLD_TIMELINE_STRATEGY", default_value = "hybrid")]
    pub timeline_strategy: TimelineStrategy,

    /// Followers above which an author's posts are fetched by its readers, not brought to them.
    ///
    /// An author who has once been above it stays so. For the strategy hybrid only.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_PUSH_LIMIT", default_value_t = 10_000)]
    pub timeline_push_limit: u64,

    /// Posts that a home timeline keeps ready. Older ones are collected when somebody scrolls there.
    #[arg(long, value_name = "N", env = "FANFOLD_TIMELINE_CAPACITY", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub timeline_capacity: u32,

    /// Days for which a home timeline that nobody reads is kept ready.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_TIMELINE_ACTIVITY", default_value_t = 21)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub timeline_activity: u32,

    /// Posts that one author may publish, all at once or within an hour.
    ///
    /// A retry with the same idempotency key does not count. Imports are not limited.
    #[arg(long, value_name = "N", env = "FANFOLD_PUBLISHES_PER_AUTHOR", default_value_t = 300)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub publishes_per_author: u32,

    /// Posts of an author that are kept in Redis; older ones are archived.
    #[arg(long, value_name = "N", env = "FANFOLD_POST_HOT_LIMIT", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub post_hot_limit: u32,
}

impl TimelineConfig {
    /// How long a timeline that nobody reads is kept ready, in seconds.
    #[must_use]
    pub fn lifetime_seconds(&self) -> u64 {
        u64::from(self.timeline_activity) * 86_400
    }
}

/// How posts come to home timelines.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TimelineStrategy {
    /// Brought to followers; those of authors with very many followers are fetched.
    Hybrid,
    /// Brought to all followers.
    Push,
    /// Fetched by readers.
    Pull,
}

impl TimelineStrategy {
    /// Its name.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        match self {
            Self::Hybrid => "hybrid",
            Self::Push => "push",
            Self::Pull => "pull",
        }
    }
}

/// Who came.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Visits")]
pub struct VisitConfig {
    /// How many users are expected to come on a day.
    ///
    /// A day is laid out for them when the first one comes, and stays so. More than half as many again cost memory,
    /// not correctness; fewer, nothing.
    #[arg(long, value_name = "N", env = "FANFOLD_VISITS_EXPECTED", default_value_t = 100_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub visits_expected: u64,

    /// Whether it is kept for a month who looked at whose profile, and told to those looked at as an audience.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_AUDIENCE", default_value = "on")]
    pub audience: Switch,
}

/// What a server does beside answering.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct DutyConfig {
    /// Whether the server brings posts to timelines itself, or leaves that to `fanfold deliver`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_DELIVER", default_value = "on")]
    pub deliver: Switch,

    /// Whether the server archives old posts and past days itself, or leaves that to `fanfold archive run`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_ARCHIVE", default_value = "on")]
    pub archive: Switch,
}

/// Whether something is done.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// It is.
    On,
    /// It is not.
    Off,
}

/// What clients may ask.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "API")]
pub struct GraphqlConfig {
    /// Predicted cost that one operation may have: 1 for an object and 0.1 for any other field.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COST_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub graphql_cost_limit: u64,

    /// What it may really use.
    #[command(flatten)]
    pub budget: BudgetConfig,

    /// Cost that the operations of one user may have in a minute [default: no limit].
    ///
    /// Anonymous clients are counted by address; --http-trusted-proxies tells what counts as one behind a proxy. As much,
    /// and at least what one operation may cost, may also be used at once.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_RATE_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub graphql_rate_limit: Option<u32>,

    /// Seconds that a query may take.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_GRAPHQL_QUERY_TIMEOUT", default_value_t = 15)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub graphql_query_timeout: u32,

    /// Seconds that a mutation may take. It goes on when they are over, but nobody is told how it ends.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_GRAPHQL_MUTATION_TIMEOUT", default_value_t = 60)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub graphql_mutation_timeout: u32,

    /// Whether clients may ask for the schema in a query. It is at /schema.graphql in any case.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_INTROSPECTION", default_value = "on")]
    pub graphql_introspection: Switch,

    /// Whether documents are remembered that clients send with their hash, so that next time the hash will do.
    ///
    /// These are the automatic persisted queries of Apollo's clients. Each process remembers some megabytes of them.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_GRAPHQL_PERSISTED_QUERIES", default_value = "on")]
    pub graphql_persisted_queries: Switch,

    /// File of documents that clients may name by their hash: persisted-documents.json, as code generators write it.
    ///
    /// A JSON object from the SHA-256 of each document, as sha256:… or in hexadecimal digits alone, to the document.
    /// They are checked when the server starts, and may ask for the schema even with --graphql-introspection off.
    #[arg(long, value_name = "FILE", env = "FANFOLD_GRAPHQL_TRUSTED_DOCUMENTS")]
    pub graphql_trusted_documents: Option<PathBuf>,

    /// What the documents of that file are to the server.
    #[arg(long, value_name = "MODE", env = "FANFOLD_GRAPHQL_TRUSTED_MODE", default_value = "prefer")]
    pub graphql_trusted_mode: TrustedMode,
}

/// What documents that are trusted are to a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum TrustedMode {
    /// Nothing: the file is not read.
    Off,
    /// They may be named by their hash; others may be sent.
    Prefer,
    /// There are no others.
    Only,
}

impl GraphqlConfig {
    /// How long a query may take.
    #[must_use]
    pub fn query_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_query_timeout.into())
    }

    /// How long anybody waits for a mutation.
    #[must_use]
    pub fn mutation_timeout(&self) -> Duration {
        Duration::from_secs(self.graphql_mutation_timeout.into())
    }
}

/// How clients reach the server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct HttpConfig {
    /// Address and port to listen on; port 0 chooses a free one.
    #[arg(long, value_name = "ADDRESS", env = "FANFOLD_LISTEN", default_value = "127.0.0.1:8080")]
    pub listen: SocketAddr,

    /// Bytes a request body may have.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_HTTP_BODY_LIMIT", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_024..=16_777_216))]
    pub http_body_limit: u64,

    /// Operations that a request may bring, in a JSON array, and that are answered in an array; 0 for one alone.
    ///
    /// Together they may ask for as much as one. Queries that follow each other are executed at the same time,
    /// mutations one after the other.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_BATCH_LIMIT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=10))]
    pub http_batch_limit: u8,

    /// Seconds for which anybody may keep the answer to a query that came by GET, without a token, and asks for nothing
    /// that depends on who asks; 0 for not at all.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_PUBLIC_MAX_AGE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub http_public_max_age: u32,

    /// Sites whose pages may send requests, such as <https://app.example.org>, separated by commas; * for all.
    ///
    /// The server's own pages may and, while it listens on this machine only, all that are served on it. Then the
    /// server is known by its address and as localhost; behind a proxy that passes on another name, list that, too.
    #[arg(long, value_name = "ORIGINS", env = "FANFOLD_HTTP_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_parser = origin)]
    pub http_cors_origins: Vec<String>,

    /// Names that this server answers to, such as feed.example.org, separated by commas [default: any].
    ///
    /// A request for any other is rejected (421), except for /healthz and /readyz. A name may have a port, and stands for
    /// all ports without one. If none is given, a server that listens on this machine only is known by its address and as
    /// localhost.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_HTTP_HOSTS", value_delimiter = ',', value_parser = host)]
    pub http_hosts: Vec<String>,

    /// Proxies before this server, such as 10.0.0.0/8 or 192.0.2.7, separated by commas.
    ///
    /// A request that comes from one of them is taken to come from the last address in X-Forwarded-For that is none of
    /// theirs. Behind a proxy that is not listed here, all clients are one, and what one of them may not do any more,
    /// none may.
    #[arg(long, value_name = "NETWORKS", env = "FANFOLD_HTTP_TRUSTED_PROXIES", value_delimiter = ',')]
    #[arg(value_parser = network)]
    pub http_trusted_proxies: Vec<IpNet>,

    /// Seconds after which a connection is closed on which no request has come, or not all of its head.
    ///
    /// A proxy that keeps connections open should close them first.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_IDLE_TIMEOUT", default_value_t = 75)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub http_idle_timeout: u32,

    /// WebSockets, and streams of events, that may be open at a time.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub http_sockets: u32,

    /// How much one client may have.
    #[command(flatten)]
    pub clients: ClientConfig,

    /// Seconds that requests under way are given to finish when the server stops.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_SHUTDOWN_TIMEOUT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub http_shutdown_timeout: u32,
}

impl HttpConfig {
    /// How long requests under way are given to finish.
    #[must_use]
    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.http_shutdown_timeout.into())
    }
}

/// What the server says of itself.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Form of the log, which goes to standard error.
    #[arg(long, value_name = "FORM", env = "FANFOLD_LOG", default_value = "text")]
    pub log: LogForm,

    /// Log a line for each request that was answered: what kind it was, how long it took, what became of it.
    ///
    /// The same as fanfold::http::log=debug among the --log-filter.
    #[arg(long, env = "FANFOLD_LOG_REQUESTS")]
    pub log_requests: bool,

    /// What is logged: a level (error, warn, info, debug, trace), also per module as in
    /// info,fanfold::store=debug.
    #[arg(long, value_name = "FILTER", env = "FANFOLD_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// Where traces go.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct TraceConfig {
    /// Collector of OpenTelemetry that traces of requests are sent to, such as <http://127.0.0.1:4318>.
    ///
    /// By OTLP over HTTP, as protobuf. Which traces are sent, and what they say of the service, is set by
    /// OpenTelemetry's own variables (OTEL_TRACES_SAMPLER, OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS …).
    #[arg(long, value_name = "URL", env = "FANFOLD_OTLP_ENDPOINT", value_parser = collector)]
    pub otlp_endpoint: Option<String>,
}

impl TraceConfig {
    /// Where the collector is, if there is one.
    #[must_use]
    pub fn collector(&self) -> Option<&str> {
        // An empty variable in the environment is one that is not set.
        self.otlp_endpoint.as_deref().filter(|url| !url.is_empty())
    }
}

/// Forms of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}
