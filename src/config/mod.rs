//! Defines all options. The doc comments are the text of `--help`.
//!
//! An option has one name in three spellings: `--relation-strategy` on the command line, `FANFOLD_RELATION_STRATEGY` in
//! the environment, and `strategy` in the section `[relation]` of the configuration file. The name's first word is the
//! section. Only `--config`, the path of the file, has no section: a file cannot name itself. `source` resolves the
//! options in the order of precedence, and `key` derives the keys of the file from the structs in this layer.
//!
//! Each layer receives its section by value. No option is required: the server starts without any configuration.

mod account;
mod budget;
mod client;
mod file;
mod graphql;
mod http;
mod jwt;
mod key;
mod listen;
mod log;
mod nearest;
mod redis;
mod relation;
mod source;
mod timeline;
mod value;

use clap::{Args, ValueEnum};

pub use crate::config::account::{AccountConfig, RegistrationMode};
pub use crate::config::budget::BudgetConfig;
pub use crate::config::client::ClientConfig;
pub use crate::config::file::{FILE_NAME, File, FileError};
pub use crate::config::graphql::{GraphqlConfig, TrustedMode};
pub use crate::config::http::HttpConfig;
pub use crate::config::jwt::{JwtAlgorithm, JwtConfig, JwtSource};
pub use crate::config::key::Key;
pub use crate::config::listen::ListenConfig;
pub use crate::config::log::{LogConfig, LogForm, TraceConfig};
pub use crate::config::redis::RedisConfig;
pub use crate::config::relation::{RelationConfig, RelationStrategy};
pub use crate::config::source::{ResolveError, Resolved, Setting, Source, misspelt_variables};
pub use crate::config::timeline::{TimelineConfig, TimelineStrategy};
use crate::config::value::media_host;
pub use crate::config::value::{AdminListen, ListenAddress, SecretUrl};

/// Options of the server. Only these can be set in a configuration file; other commands have some of them.
#[derive(Args, Clone, Debug)]
pub struct ServerConfig {
    /// The HTTP server.
    #[command(flatten)]
    pub http: HttpConfig,
    /// The API.
    #[command(flatten)]
    pub graphql: GraphqlConfig,
    /// Background tasks.
    #[command(flatten)]
    pub duties: DutyConfig,
    /// Redis, the archive and the application rules.
    #[command(flatten)]
    pub data: DataConfig,
    /// The log.
    #[command(flatten)]
    pub log: LogConfig,
    /// Traces.
    #[command(flatten)]
    pub trace: TraceConfig,
}

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
    /// Sign-in from an existing application.
    #[command(flatten)]
    pub jwt: JwtConfig,
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

/// Options of pictures, which are stored elsewhere.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Media")]
pub struct MediaConfig {
    /// Hosts that users' pictures may be on, such as pictures.example.org, separated by commas; without this option,
    /// users have no pictures.
    ///
    /// Clients load the pictures from these hosts, which thus receive the addresses of readers. The server does not
    /// connect to them.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_MEDIA_HOSTS", value_delimiter = ',')]
    #[arg(value_parser = media_host)]
    pub media_hosts: Vec<String>,
}

/// Options of visits and profile views.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Visits")]
pub struct VisitConfig {
    /// Expected number of daily visitors.
    ///
    /// Takes effect with the first visitor of each day. Exceeding this number by over 50 % costs memory, not
    /// correctness; fewer visitors cost nothing.
    #[arg(long, value_name = "N", env = "FANFOLD_VISIT_EXPECTED_VISITORS", default_value_t = 100_000)]
    #[arg(alias = "visits-expected", value_parser = clap::value_parser!(u64).range(1..=10_000_000))]
    pub visit_expected_visitors: u64,

    /// Record profile views for one month, and report them to the viewed users as their audience.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_VISIT_AUDIENCE", default_value = "on")]
    #[arg(alias = "audience")]
    pub visit_audience: Switch,
}

/// Options for a server's background tasks.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Posts and timelines")]
pub struct DutyConfig {
    /// Deliver posts to timelines in the server, instead of leaving that to `fanfold deliver`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_DELIVERY_IN_SERVER", default_value = "on")]
    #[arg(alias = "deliver")]
    pub delivery_in_server: Switch,

    /// Archive old posts and past days in the server, instead of leaving that to `fanfold archive run`.
    #[arg(long, value_name = "SWITCH", env = "FANFOLD_ARCHIVE_IN_SERVER", default_value = "on")]
    #[arg(alias = "archive")]
    pub archive_in_server: Switch,
}

/// The value of an option that is on or off.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum Switch {
    /// Enabled.
    On,
    /// Disabled.
    Off,
}
