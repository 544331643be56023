//! Options of the API: limits on operations, and which documents are accepted.

use std::path::PathBuf;
use std::time::Duration;

use clap::{Args, ValueEnum};

use crate::config::{BudgetConfig, Switch};

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
    /// maximum burst is this limit or the maximum cost of one operation, whichever is greater. The events of a user's
    /// subscriptions are limited alike, but apart from operations: they wait.
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
