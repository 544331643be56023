//! Options of relations: how they are looked up, and their limits.

use clap::{Args, ValueEnum};

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

    /// Maximum number of users that one user can block.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_BLOCK_LIMIT", default_value_t = 5_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=100_000))]
    pub relation_block_limit: u32,

    /// Maximum number of times per hour that a user can follow, unblock and unmute the same other user.
    ///
    /// Only what changes something counts. Unfollowing, blocking and muting are not limited, and neither are imports.
    #[arg(long, value_name = "N", env = "FANFOLD_RELATION_CHANGES_PER_PAIR", default_value_t = 20)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub relation_changes_per_pair: u32,

    /// Maximum size of this process's cache of the users whom viewers have muted or blocked, or who block them, in
    /// bytes.
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
