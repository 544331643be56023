//! Every knob, on one page: this is what `--help` prints.
//!
//! A knob has one name in three spellings: `relation.strategy` in text, `--relation-strategy` on the
//! command line, `FANFOLD_RELATION_STRATEGY` in the environment. A storey is given its section by
//! value. Nothing needs to be set: the server starts with no configuration at all.

use std::fmt;
use std::net::SocketAddr;
use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

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

/// Accounts and sessions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Accounts")]
pub struct AccountConfig {
    /// A login ends all other sessions of the user.
    #[arg(long, env = "FANFOLD_SESSIONS_SINGLE")]
    pub sessions_single: bool,

    /// Days after which a session that is not used ends.
    #[arg(long, value_name = "DAYS", env = "FANFOLD_SESSIONS_LIFETIME", default_value_t = 30)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_650))]
    pub sessions_lifetime: u32,

    /// Passwords that are hashed at the same time [default: number of processors].
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_WORKERS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=1_024))]
    pub password_workers: Option<u16>,

    /// Passwords that may wait to be hashed; beyond that, clients are asked to come back.
    #[arg(long, value_name = "N", env = "FANFOLD_PASSWORD_QUEUE", default_value_t = 256)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub password_queue: u32,
}

impl AccountConfig {
    /// How long an unused session lives.
    #[must_use]
    pub fn session_lifetime(&self) -> Duration {
        Duration::from_secs(u64::from(self.sessions_lifetime) * 86_400)
    }
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
    /// About how many objects one operation may ask for.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COST_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u64).range(100..=1_000_000_000))]
    pub graphql_cost_limit: u64,

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

    /// Sites whose pages may send requests, such as <https://app.example.org>, separated by commas; * for all.
    ///
    /// The server's own pages may and, while it listens on this machine only, all that are served on it. Then the
    /// server is known by its address and as localhost; behind a proxy that passes on another name, list that, too.
    #[arg(long, value_name = "ORIGINS", env = "FANFOLD_HTTP_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_parser = origin)]
    pub http_cors_origins: Vec<String>,

    /// Seconds after which a connection is closed on which no request has come, or not all of its head.
    ///
    /// A proxy that keeps connections open should close them first.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_IDLE_TIMEOUT", default_value_t = 75)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub http_idle_timeout: u32,

    /// Seconds that requests under way are given to finish when the server stops.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_SHUTDOWN_TIMEOUT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub http_shutdown_timeout: u32,
}

/// What the server says of itself.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Form of the log, which goes to standard error.
    #[arg(long, value_name = "FORM", env = "FANFOLD_LOG", default_value = "text")]
    pub log: LogForm,

    /// What is logged: a level (error, warn, info, debug, trace), also per module as in
    /// info,fanfold::store=debug.
    #[arg(long, value_name = "FILTER", env = "FANFOLD_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// Forms of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// Lines for people.
    Text,
    /// A JSON object a line.
    Json,
}

/// A URL. Prints as `***` if there may be a password in it.
#[derive(Clone, PartialEq, Eq)]
pub struct SecretUrl(String);

impl SecretUrl {
    /// The URL, password and all.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl From<String> for SecretUrl {
    /// Takes any text: what is no URL is refused when it is opened, by a message that does not show
    /// it.
    fn from(text: String) -> Self {
        Self(text)
    }
}

impl fmt::Debug for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        let secret = self.0.contains('@') || self.0.contains("pass=");
        formatter.write_str(if secret { "***" } else { &self.0 })
    }
}

impl fmt::Display for SecretUrl {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(self, formatter)
    }
}

/// A site: a scheme and a host, perhaps with a port, and nothing more.
fn origin(text: &str) -> Result<String, String> {
    let origin = text.trim().trim_end_matches('/').to_ascii_lowercase();
    let host = ["http://", "https://"].iter().find_map(|scheme| origin.strip_prefix(scheme));
    let is_host = |host: &str| !host.is_empty() && !host.contains(['/', '?', '#', '@', '*', ' ']);
    if origin == "*" || host.is_some_and(is_host) {
        return Ok(origin);
    }
    Err("a site is a scheme and a host, such as https://app.example.org".to_owned())
}

/// A prefix must not disturb the hash tags of the keys it begins.
fn key_prefix(text: &str) -> Result<String, String> {
    if text.len() > 64 {
        return Err("at most 64 bytes".to_owned());
    }
    if text.contains(|character: char| matches!(character, '{' | '}' | ' ') || character.is_control()) {
        return Err("no braces, spaces or control characters".to_owned());
    }
    Ok(text.to_owned())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_url_with_a_password_is_not_printed() {
        let printed = |url: &str| SecretUrl::from(url.to_owned()).to_string();
        assert_eq!(printed("redis://ada:secret@host/0"), "***");
        assert_eq!(printed("unix:/run/redis.sock?pass=secret"), "***");
        assert_eq!(printed("rediss://host:6380/0"), "rediss://host:6380/0");
    }

    #[test]
    fn a_site_is_a_scheme_and_a_host() {
        assert_eq!(origin(" HTTPS://A.example:8443/ ").as_deref(), Ok("https://a.example:8443"));
        assert_eq!(origin("*").as_deref(), Ok("*"));
        for text in
            ["", "a.example", "ftp://a.example", "https://", "https://a.example/path", "https://*.example"]
        {
            assert!(origin(text).is_err(), "{text:?}");
        }
    }

    #[test]
    fn a_prefix_with_braces_is_refused() {
        assert!(key_prefix("{a}").is_err());
        assert_eq!(key_prefix("ff:").as_deref(), Ok("ff:"));
    }
}
