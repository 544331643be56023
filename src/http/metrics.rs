//! `/metrics`: the metrics of this process and of the queues, in the Prometheus text format.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::{join3, try_join};
use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::Mutex;

use crate::app::Readiness;
use crate::app::archive::Transit;
use crate::app::delivery::Backlog;
use crate::budget::Resource;
use crate::http::Server;

/// Timeout of reading the queues' state from Redis.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Interval of the recorder's upkeep. Without it, recorded values pile up until the next request for `/metrics`.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// Histogram buckets of request duration, in seconds.
const REQUEST_SECONDS: [f64; 12] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Histogram buckets of Redis round trips, in seconds.
const REDIS_SECONDS: [f64; 11] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
/// Histogram buckets of an operation's cost, and of its usage of each resource (commands, statements or bytes).
const USED: [f64; 9] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1e6, 1e7, 1e8];
/// Histogram buckets of the loader's batch size, in reads.
const READS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 1_000.0, 10_000.0];

/// The process's metrics recorder; `None` if another recorder is installed.
static RECORDER: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let buckets = |builder: PrometheusBuilder, name: &str, buckets: &[f64]| {
        builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets).ok()
    };
    let builder = buckets(PrometheusBuilder::new(), "fanfold_request_seconds", &REQUEST_SECONDS)?;
    let builder = buckets(builder, "fanfold_redis_seconds", &REDIS_SECONDS)?;
    let builder = buckets(builder, "fanfold_redis_node_seconds", &REDIS_SECONDS)?;
    let builder = buckets(builder, "fanfold_loader_reads", &READS)?;
    let builder = buckets(builder, "fanfold_operation_cost", &USED)?;
    let builder = buckets(builder, "fanfold_operation_used", &USED)?;
    let handle = builder.install_recorder().ok()?;
    describe_histogram!("fanfold_operation_cost", "Predicted cost of operations.");
    describe_histogram!("fanfold_operation_used", "Usage of each resource by operations.");
    describe_counter!(
        "fanfold_operations_over_budget_total",
        "Operations that exceeded their budget, by resource."
    );
    describe_counter!("fanfold_requests_total", "Completed operations, by type and outcome.");
    describe_histogram!(
        "fanfold_request_seconds",
        "Duration of operations in seconds, from the request head."
    );
    describe_counter!("fanfold_documents_rejected_total", "Rejected documents, by error code.");
    describe_histogram!("fanfold_loader_reads", "Reads per batch of the loader.");
    describe_histogram!("fanfold_redis_seconds", "Duration of Redis round trips in seconds, by purpose.");
    describe_counter!("fanfold_redis_errors_total", "Failed Redis round trips.");
    describe_counter!(
        "fanfold_unreadable_total",
        "Stored values that could not be decoded and were left out, by kind."
    );
    describe_gauge!("fanfold_redis_up", "1 if Redis responds, otherwise 0.");
    describe_gauge!("fanfold_redis_connections", "Connections to Redis.");
    describe_gauge!("fanfold_redis_masters", "Masters of the Redis Cluster.");
    describe_gauge!("fanfold_redis_replicas", "Masters of which a replica is read.");
    describe_gauge!(
        "fanfold_redis_node_up",
        "1 if a master was reached when it was last tried, otherwise 0."
    );
    describe_histogram!("fanfold_redis_node_seconds", "Duration of round trips to each node, in seconds.");
    describe_counter!(
        "fanfold_redis_redirects_total",
        "Replies of nodes that were not final, by kind: moved, ask, try again, unavailable."
    );
    describe_counter!(
        "fanfold_redis_topology_changes_total",
        "Changes of the topology of the Redis Cluster."
    );
    describe_gauge!("fanfold_redis_memory_bytes", "Memory in use by the fullest master, in bytes.");
    describe_gauge!("fanfold_redis_memory_limit_bytes", "Memory limit of the fullest master, in bytes.");
    describe_gauge!("fanfold_archive_up", "1 if the archive responds and accepts posts, otherwise 0.");
    describe_gauge!("fanfold_archive_connections", "Connections to the archive.");
    describe_gauge!("fanfold_documents_cached", "Cached parsed documents.");
    describe_gauge!("fanfold_persisted_cached", "Cached persisted queries.");
    describe_gauge!("fanfold_passwords_waiting", "Passwords waiting to be hashed.");
    describe_gauge!("fanfold_jwt_keys", "Public keys in force for sign-in with JWT.");
    describe_gauge!("fanfold_jwt_keys_age_seconds", "Time since the JWT keys were last read, in seconds.");
    describe_gauge!("fanfold_sockets", "Open WebSockets and event streams.");
    describe_gauge!(
        "fanfold_http_memory_bytes",
        "Memory for requests and responses in progress; the limit is --http-memory-limit."
    );
    describe_gauge!("fanfold_uptime_seconds", "Uptime of this process in seconds.");
    describe_gauge!("fanfold_build_info", "Always 1; the label is the version.");
    describe_gauge!("fanfold_fanout_jobs", "Posts waiting to be delivered, or being delivered.");
    describe_gauge!("fanfold_fanout_oldest_seconds", "Age of the oldest delivery job in seconds.");
    describe_gauge!(
        "fanfold_fanout_failed_jobs",
        "Posts whose delivery to timelines, or removal from them, was given up."
    );
    describe_gauge!("fanfold_sweep_jobs", "Deleted posts still to be removed from timelines.");
    describe_gauge!("fanfold_publishing_posts", "Posts being published.");
    describe_gauge!("fanfold_archive_pending_posts", "Posts waiting to be archived.");
    describe_gauge!("fanfold_archive_moving_posts", "Posts being archived.");
    describe_gauge!(
        "fanfold_archive_oldest_seconds",
        "Age of the oldest post waiting to be archived, or being archived, in seconds."
    );
    describe_gauge!("fanfold_archive_unmovable_posts", "Posts rejected by the archive.");
    describe_counter!("fanfold_archived_posts_total", "Posts archived, by all processes.");
    describe_counter!("fanfold_deliveries_total", "Deliveries of a post to a timeline, by all processes.");
    Some(handle)
});

/// Installs the recorder. Values recorded earlier are lost.
pub(super) fn begin() {
    LazyLock::force(&RECORDER);
}

/// Runs the recorder's upkeep. Never returns.
pub(super) async fn run_upkeep() {
    loop {
        tokio::time::sleep(UPKEEP_INTERVAL).await;
        if let Some(recorder) = &*RECORDER {
            recorder.run_upkeep();
        }
    }
}

thread_local! {
    /// The thread's counters by operation type and code, cached so that recording a value needs no allocation and no
    /// lock.
    static COUNTERS: RefCell<HashMap<(&'static str, &'static str), Counter>> = RefCell::default();
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
}

/// Counts a completed operation by type and code, and records its duration.
pub(super) fn count(kind: &'static str, code: &'static str, took: Duration) {
    COUNTERS.with_borrow_mut(|counters| {
        let requests = || counter!("fanfold_requests_total", "operation" => kind, "code" => code);
        counters.entry((kind, code)).or_insert_with(requests).increment(1);
    });
    // The client determines a subscription's duration, so it is not recorded.
    if kind == "subscription" {
        return;
    }
    DURATIONS.with_borrow_mut(|durations| {
        let duration = || histogram!("fanfold_request_seconds", "operation" => kind);
        durations.entry(kind).or_insert_with(duration).record(took);
    });
}

/// Counts a rejected document by error code.
pub(super) fn count_rejected(code: &'static str) {
    counter!("fanfold_documents_rejected_total", "code" => code).increment(1);
}

/// Counts an operation that exceeded its budget for a resource.
pub(super) fn exceed(resource: Resource) {
    counter!("fanfold_operations_over_budget_total", "resource" => resource.as_str()).increment(1);
}

/// Returns the metrics of this process, and those of the queues, which are the same in all processes.
pub(super) async fn page(State(server): State<Arc<Server>>) -> Response {
    let Some(recorder) = &*RECORDER else {
        return (StatusCode::NOT_FOUND, "this process has another metrics recorder\n").into_response();
    };
    show_process(&server);
    let app = server.api.app();
    let queues = tokio::time::timeout(TIMEOUT, try_join(app.backlog(), app.transit()));
    let memory = tokio::time::timeout(TIMEOUT, app.store().fullest_memory());
    let (queues, memory, (redis, archive)) = join3(queues, memory, server.health.read(app)).await;
    show_memory(memory.ok().flatten());
    // Without Redis, posts are not archived, and the state of the archive is unknown.
    let is_archive_up = archive && !app.is_archiving_stuck();
    gauge!("fanfold_archive_up").set(match redis {
        Readiness::Ready => f64::from(u8::from(is_archive_up)),
        _ => f64::NAN,
    });
    let queues = queues.ok().and_then(Result::ok);
    gauge!("fanfold_redis_up").set(if queues.is_some() { 1.0 } else { 0.0 });
    match &queues {
        Some((backlog, transit)) => {
            show_backlog(backlog);
            show_transit(transit);
        }
        None => hide_queues(),
    }
    let media_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (media_type, recorder.render()).into_response()
}

fn show_process(server: &Server) {
    let app = server.api.app();
    let (documents, persisted) = server.api.cached_documents();
    gauge!("fanfold_documents_cached").set(number(documents as u64));
    gauge!("fanfold_persisted_cached").set(number(persisted as u64));
    gauge!("fanfold_redis_connections").set(app.store().connections());
    show_masters(&app.store().masters());
    gauge!("fanfold_archive_connections").set(app.archive_connections());
    gauge!("fanfold_passwords_waiting").set(number(app.waiting_passwords() as u64));
    if let Some(keys) = app.jwt_keys() {
        gauge!("fanfold_jwt_keys").set(number(keys.keys as u64));
        let age = keys.age.map_or(f64::NAN, |age| age.as_secs_f64());
        gauge!("fanfold_jwt_keys_age_seconds").set(age);
    }
    gauge!("fanfold_sockets").set(number(server.seats.taken() as u64));
    gauge!("fanfold_http_memory_bytes").set(number(server.memory.occupied() as u64));
    gauge!("fanfold_uptime_seconds").set(server.began.elapsed().as_secs_f64());
    gauge!("fanfold_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

/// Shows the masters of a cluster, if there is one. The metric of a server that is no longer a master becomes NaN.
fn show_masters(masters: &[(String, bool)]) {
    static SHOWN: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);
    if masters.is_empty() {
        return;
    }
    gauge!("fanfold_redis_masters").set(number(masters.len() as u64));
    let mut shown = SHOWN.lock();
    for node in std::mem::take(&mut *shown) {
        gauge!("fanfold_redis_node_up", "node" => node).set(f64::NAN);
    }
    for (node, is_up) in masters {
        gauge!("fanfold_redis_node_up", "node" => node.clone()).set(f64::from(u8::from(*is_up)));
        shown.insert(node.clone());
    }
}

/// Shows the memory that the fullest master uses, and its limit; NaN if they are unknown.
fn show_memory(memory: Option<(u64, u64)>) {
    let (used, limit) = memory.map_or((f64::NAN, f64::NAN), |(used, limit)| (number(used), number(limit)));
    gauge!("fanfold_redis_memory_bytes").set(used);
    gauge!("fanfold_redis_memory_limit_bytes").set(limit);
}

/// Sets the queues' metrics to NaN, since stale values would be mistaken for current values.
fn hide_queues() {
    for name in QUEUES {
        gauge!(name).set(f64::NAN);
    }
}

/// Names of the metrics that are read from Redis.
const QUEUES: [&str; 9] = [
    "fanfold_fanout_jobs",
    "fanfold_fanout_oldest_seconds",
    "fanfold_fanout_failed_jobs",
    "fanfold_sweep_jobs",
    "fanfold_publishing_posts",
    "fanfold_archive_pending_posts",
    "fanfold_archive_moving_posts",
    "fanfold_archive_oldest_seconds",
    "fanfold_archive_unmovable_posts",
];

fn show_backlog(backlog: &Backlog) {
    let Backlog { jobs, oldest, sweeps, served, failed, publishing } = *backlog;
    gauge!("fanfold_fanout_jobs").set(number(jobs));
    gauge!("fanfold_fanout_oldest_seconds").set(oldest.as_secs_f64());
    gauge!("fanfold_fanout_failed_jobs").set(number(failed));
    gauge!("fanfold_sweep_jobs").set(number(sweeps));
    gauge!("fanfold_publishing_posts").set(number(publishing));
    counter!("fanfold_deliveries_total").absolute(served);
}

fn show_transit(transit: &Transit) {
    let Transit { pending, moving, oldest, moved, unmovable } = *transit;
    gauge!("fanfold_archive_pending_posts").set(number(pending));
    gauge!("fanfold_archive_moving_posts").set(number(moving));
    gauge!("fanfold_archive_oldest_seconds").set(oldest.as_secs_f64());
    gauge!("fanfold_archive_unmovable_posts").set(number(unmovable));
    counter!("fanfold_archived_posts_total").absolute(moved);
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
fn number(count: u64) -> f64 {
    count as f64
}
