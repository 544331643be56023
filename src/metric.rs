//! The metrics, a row each: the kind, the name, the labels and the meaning. A function of the same name returns the
//! metric with its labels, to record a value. A name says the unit, if there is one: `_seconds` or `_bytes`.
//!
//! The same rows describe the metrics at `/metrics`, and are the table in `docs/operating.md`, which a test compares.

use metrics::{
    SharedString, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};

/// Buckets of request durations, in seconds.
const REQUEST_SECONDS: &[f64] = &[0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Buckets of Redis round trips, in seconds.
const REDIS_SECONDS: &[f64] =
    &[0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
/// Buckets of an operation's cost, and of its usage of each resource (commands, statements or bytes).
const USED: &[f64] = &[1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1e6, 1e7, 1e8];
/// Buckets of the loader's batch size, in reads.
const READS: &[f64] = &[1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 1_000.0, 10_000.0];

/// The kind of a metric.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Kind {
    /// A number that only grows.
    Counter,
    /// A number that grows and shrinks.
    Gauge,
    /// Counts of values in buckets.
    Histogram,
}

/// What is known of a metric before values are recorded.
#[derive(Clone, Copy, Debug)]
pub struct Metric {
    /// The name.
    pub name: &'static str,
    /// The kind.
    pub kind: Kind,
    /// Names of the labels.
    pub labels: &'static [&'static str],
    /// What it measures, in Markdown.
    pub text: &'static str,
    /// Upper bounds of the buckets of a histogram.
    pub buckets: &'static [f64],
}

macro_rules! metrics {
    ($($kind:ident $name:ident($($label:ident),*) $(in $buckets:ident)?: $text:literal;)*) => {
        $(
            #[doc = $text]
            pub(crate) fn $name($($label: impl Into<SharedString>),*) -> metrics::$kind {
                metrics!(@$kind concat!("fanfold_", stringify!($name)) $(, stringify!($label) => $label)*)
            }
        )*

        /// All metrics.
        pub const ALL: &[Metric] = &[$(
            Metric {
                name: concat!("fanfold_", stringify!($name)),
                kind: Kind::$kind,
                labels: &[$(stringify!($label)),*],
                text: $text,
                buckets: metrics!(@buckets $($buckets)?),
            },
        )*];
    };
    (@buckets) => { &[] };
    (@buckets $buckets:ident) => { $buckets };
    (@Counter $($row:tt)*) => { counter!($($row)*) };
    (@Gauge $($row:tt)*) => { gauge!($($row)*) };
    (@Histogram $($row:tt)*) => { histogram!($($row)*) };
}

metrics! {
    Counter requests_total(operation, code): "Completed operations.";
    Histogram request_seconds(operation) in REQUEST_SECONDS:
        "Duration of queries and mutations, from the request head.";
    Counter documents_rejected_total(code): "Rejected documents.";
    Histogram operation_cost() in USED: "Predicted cost of operations.";
    Histogram operation_used(resource) in USED: "Usage of each resource by operations.";
    Counter operations_over_budget_total(resource): "Operations that exceeded their budget.";
    Histogram loader_reads() in READS: "Reads per batch of the loader.";
    Gauge redis_up(): "1 if Redis responds, otherwise 0.";
    Gauge redis_connections(): "Connections to Redis.";
    Histogram redis_seconds(step) in REDIS_SECONDS: "Duration of Redis round trips, by purpose.";
    Counter redis_errors_total(step): "Failed Redis round trips, by purpose.";
    Gauge redis_memory_bytes(): "Memory in use by the fullest master.";
    Gauge redis_memory_limit_bytes(): "Limit of that master: `maxmemory`, or the memory of its machine.";
    Gauge redis_replicas(): "With `--redis-replica-reads`: masters of which a replica is read.";
    Gauge redis_masters(): "In a cluster: masters.";
    Gauge redis_node_up(node): "In a cluster: 1 if the master was reached when it was last tried, otherwise 0.";
    Histogram redis_node_seconds(node) in REDIS_SECONDS: "In a cluster: duration of round trips.";
    Counter redis_redirects_total(kind): "In a cluster: replies that were not final: `moved`, `ask`, `try again`, \
        `unavailable`, or `replica` if a replica lacked the data.";
    Counter redis_topology_changes_total(): "In a cluster: changes of the topology.";
    Gauge archive_up(): "1 if the archive responds and accepts posts, otherwise 0.";
    Gauge archive_connections(): "Connections to the archive.";
    Counter unreadable_total(kind): "Stored values that could not be decoded and were left out.";
    Gauge documents_cached(): "Cached parsed documents.";
    Gauge persisted_cached(): "Cached persisted queries.";
    Gauge passwords_waiting(): "Passwords waiting to be hashed.";
    Gauge jwt_keys(): "With sign-in from an existing application: public keys in force.";
    Gauge jwt_keys_age_seconds(): "With sign-in from an existing application: time since the keys were read.";
    Gauge sockets(): "Open WebSockets and event streams.";
    Gauge http_memory_bytes(): "Memory for requests and responses in progress; the limit is `--http-memory-limit`.";
    Gauge fanout_jobs(): "Posts waiting for delivery or being delivered.";
    Gauge fanout_oldest_seconds(): "Age of the oldest delivery job.";
    Gauge fanout_failed_jobs(): "Posts whose delivery to timelines, or removal from them, was given up.";
    Gauge sweep_jobs(): "Deleted posts still to be removed from timelines.";
    Gauge publishing_posts(): "Posts being published.";
    Counter deliveries_total(): "Deliveries of a post to a timeline, by all processes.";
    Gauge archive_pending_posts(): "Posts waiting to be archived.";
    Gauge archive_moving_posts(): "Posts being archived.";
    Gauge archive_oldest_seconds(): "Age of the oldest post waiting to be archived, or being archived.";
    Gauge archive_unmovable_posts(): "Posts rejected by the archive.";
    Counter archived_posts_total(): "Posts archived, by all processes.";
    Gauge uptime_seconds(): "Time since the start of the process.";
    Gauge build_info(version): "Always 1.";
}

impl Metric {
    /// Describes the metric to the recorder of this process.
    pub(crate) fn describe(&self) {
        match self.kind {
            Kind::Counter => describe_counter!(self.name, self.text),
            Kind::Gauge => describe_gauge!(self.name, self.text),
            Kind::Histogram => describe_histogram!(self.name, self.text),
        }
    }
}
