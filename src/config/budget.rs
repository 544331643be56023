//! Options of the budget of an operation.

use clap::Args;

use crate::budget::Amounts;
use crate::config::TimelineStrategy;

/// The budget of an operation. A batch of operations shares one.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "API")]
pub struct BudgetConfig {
    /// Read commands to Redis per operation [default: 20000, or 4 for each user one may follow].
    ///
    /// A command that reads many members counts as several, by its duration. A page far back in a home timeline takes
    /// about three for each user followed, and twice as many with --timeline-strategy pull, which doubles the default.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_COMMAND_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(1_000..=1_000_000_000))]
    pub graphql_command_limit: Option<u64>,

    /// Bytes that Redis and the archive may send per operation.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_REPLY_LIMIT", default_value_t = 16_777_216)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_reply_limit: u64,

    /// Statements to the archive per operation [default: 200, or 1 for each 25 users one may follow].
    ///
    /// A statement that reads the posts of many authors counts as several.
    #[arg(long, value_name = "N", env = "FANFOLD_GRAPHQL_STATEMENT_LIMIT")]
    #[arg(value_parser = clap::value_parser!(u64).range(10..=1_000_000_000))]
    pub graphql_statement_limit: Option<u64>,

    /// Bytes of the response to one operation.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_GRAPHQL_RESPONSE_LIMIT", default_value_t = 8_388_608)]
    #[arg(value_parser = clap::value_parser!(u64).range(65_536..=1_099_511_627_776))]
    pub graphql_response_limit: u64,
}

impl BudgetConfig {
    /// Returns the budget for this limit on follows and this strategy of timelines.
    #[must_use]
    pub fn limits(&self, follow_limit: u32, strategy: TimelineStrategy) -> Amounts {
        let follow_limit = u64::from(follow_limit);
        let times = if strategy == TimelineStrategy::Pull { 2 } else { 1 };
        let commands = self.graphql_command_limit.unwrap_or_else(|| (follow_limit * 4).max(20_000) * times);
        let statements = self.graphql_statement_limit.unwrap_or_else(|| (follow_limit / 25).max(200));
        Amounts([commands, self.graphql_reply_limit, statements, self.graphql_response_limit])
    }
}
