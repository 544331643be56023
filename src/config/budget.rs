//! Options of an operation's budget.

use clap::Args;

use crate::budget::Amounts;
use crate::config::TimelineStrategy;

/// An operation's budget. The operations of a batch share one budget.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "API")]
pub struct BudgetConfig {
    /// Maximum number of Redis read commands per operation [default: 20000, or 4 × --relation-follow-limit if greater].
    ///
    /// A command that reads many members counts as several, in proportion to its duration. A page far back in a home
    /// timeline takes about three commands per followed user. With --timeline-strategy pull, it takes twice as many,
    /// and the default is doubled.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COMMAND_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    pub graphql_command_limit: Option<u64>,

    /// Maximum amount of data read from Redis and the archive per operation, in bytes.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_REPLY_LIMIT", default_value_t = 16_777_216)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_reply_limit: u64,

    /// Maximum number of archive statements per operation [default: 200, or --relation-follow-limit / 25 if greater].
    ///
    /// A statement that reads the posts of many authors counts as several.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_STATEMENT_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub graphql_statement_limit: Option<u64>,

    /// Maximum size of an operation's response, in bytes.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_RESPONSE_LIMIT", default_value_t = 8_388_608)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_response_limit: u64,
}

impl BudgetConfig {
    /// Returns the budget. Its defaults depend on the follow limit and the timeline strategy. The entries of lists that
    /// are longer than predicted may cost as much again as the `cost_limit` of a prediction.
    #[must_use]
    pub fn limits(&self, cost_limit: u64, follow_limit: u32, strategy: TimelineStrategy) -> Amounts {
        let follow_limit = u64::from(follow_limit);
        let times = if strategy == TimelineStrategy::Pull { 2 } else { 1 };
        let commands = self.graphql_command_limit.unwrap_or_else(|| (follow_limit * 4).max(20_000) * times);
        let statements = self.graphql_statement_limit.unwrap_or_else(|| (follow_limit / 25).max(200));
        Amounts([commands, self.graphql_reply_limit, statements, self.graphql_response_limit, cost_limit])
    }
}
