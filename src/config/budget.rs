//! What one operation may use.

use clap::Args;

use crate::budget::Amounts;
use crate::config::TimelineStrategy;

/// What one operation may use. A batch of operations has one budget.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "API")]
pub struct BudgetConfig {
    /// Commands to Redis that reading for one operation may take [default: 20000, or 4 for each user one may follow].
    ///
    /// A command that reads many members counts as several, by the time it takes. A page of a home timeline far back
    /// takes some three for each user followed, and as many again where timelines are pulled: then the default is twice
    /// as great.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COMMAND_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    pub graphql_command_limit: Option<u64>,

    /// Bytes that Redis and the archive may send for one operation.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_REPLY_LIMIT", default_value_t = 16_777_216)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_reply_limit: u64,

    /// Statements to the archive that one operation may take [default: 200, or 1 for each 25 users one may follow].
    ///
    /// One that reads the posts of many authors counts as several.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_STATEMENT_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub graphql_statement_limit: Option<u64>,

    /// Bytes that the response to one operation may have.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_RESPONSE_LIMIT", default_value_t = 8_388_608)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_response_limit: u64,
}

impl BudgetConfig {
    /// What an operation may use where users may follow this many, and timelines are filled this way.
    #[must_use]
    pub fn limits(&self, follow_limit: u32, strategy: TimelineStrategy) -> Amounts {
        let follow_limit = u64::from(follow_limit);
        let times = if strategy == TimelineStrategy::Pull { 2 } else { 1 };
        let commands = self.graphql_command_limit.unwrap_or_else(|| (follow_limit * 4).max(20_000) * times);
        let statements = self.graphql_statement_limit.unwrap_or_else(|| (follow_limit / 25).max(200));
        Amounts([commands, self.graphql_reply_limit, statements, self.graphql_response_limit])
    }
}
