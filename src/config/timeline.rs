//! Options of posts and timelines: how posts are delivered, and how many are kept.

use clap::{Args, ValueEnum};

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

    /// Maximum posts published and edited per author per hour.
    ///
    /// A retry with the same idempotency key does not count. Imports are not limited.
    #[arg(long, value_name = "N", env = "FANFOLD_POST_PUBLISHES_PER_AUTHOR", default_value_t = 300)]
    #[arg(alias = "publishes-per-author", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub post_publishes_per_author: u32,

    /// Maximum posts that a user likes and bookmarks per hour.
    ///
    /// Only what changes something counts. Removing likes and bookmarks is not limited.
    #[arg(long, value_name = "N", env = "FANFOLD_POST_REACTIONS_PER_USER", default_value_t = 1_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub post_reactions_per_user: u32,

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
