//! `/metrics`: the metrics of this process and of the queues, in the Prometheus text format.

use std::cell::RefCell;
use std::collections::{BTreeSet, HashMap};
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::{StatusCode, header};
use axum::response::{IntoResponse, Response};
use futures::future::{join3, try_join};
use metrics::{Counter, Gauge, Histogram};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};
use parking_lot::Mutex;

use crate::app::Readiness;
use crate::app::archive::Transit;
use crate::app::delivery::Backlog;
use crate::http::Server;
use crate::metric::{self, Metric};

/// Timeout of reading the queues' state from Redis.
const TIMEOUT: Duration = Duration::from_secs(2);

/// Interval of the recorder's upkeep. Without it, recorded values pile up until the next request for `/metrics`.
const UPKEEP_INTERVAL: Duration = Duration::from_secs(5);

/// The process's metrics recorder; `None` if another recorder is installed.
static RECORDER: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let with_buckets = |builder: PrometheusBuilder, metric: &Metric| match metric.buckets {
        [] => Some(builder),
        buckets => builder.set_buckets_for_metric(Matcher::Full(metric.name.to_owned()), buckets).ok(),
    };
    let handle =
        metric::ALL.iter().try_fold(PrometheusBuilder::new(), with_buckets)?.install_recorder().ok()?;
    metric::ALL.iter().for_each(Metric::describe);
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
        let requests = || metric::requests_total(kind, code);
        counters.entry((kind, code)).or_insert_with(requests).increment(1);
    });
    // The client determines a subscription's duration, so it is not recorded.
    if kind == "subscription" {
        return;
    }
    DURATIONS.with_borrow_mut(|durations| {
        let duration = || metric::request_seconds(kind);
        durations.entry(kind).or_insert_with(duration).record(took);
    });
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
    metric::archive_up().set(match redis {
        Readiness::Ready => f64::from(u8::from(is_archive_up)),
        _ => f64::NAN,
    });
    let queues = queues.ok().and_then(Result::ok);
    metric::redis_up().set(f64::from(u8::from(queues.is_some())));
    show_queues(queues.as_ref());
    let media_type = [(header::CONTENT_TYPE, "text/plain; version=0.0.4; charset=utf-8")];
    (media_type, recorder.render()).into_response()
}

fn show_process(server: &Server) {
    let app = server.api.app();
    let (documents, persisted) = server.api.cached_documents();
    metric::documents_cached().set(number(documents as u64));
    metric::persisted_cached().set(number(persisted as u64));
    metric::redis_connections().set(app.store().connections());
    show_masters(&app.store().masters());
    metric::archive_connections().set(app.archive_connections());
    metric::passwords_waiting().set(number(app.waiting_passwords() as u64));
    if let Some(keys) = app.jwt_keys() {
        metric::jwt_keys().set(number(keys.keys as u64));
        let age = keys.age.map_or(f64::NAN, |age| age.as_secs_f64());
        metric::jwt_keys_age_seconds().set(age);
    }
    metric::sockets().set(number(server.seats.taken() as u64));
    metric::http_memory_bytes().set(number(server.memory.occupied() as u64));
    metric::uptime_seconds().set(server.began.elapsed().as_secs_f64());
    metric::build_info(env!("CARGO_PKG_VERSION")).set(1.0);
}

/// Shows the masters of a cluster, if there is one. The metric of a server that is no longer a master becomes NaN.
fn show_masters(masters: &[(String, bool)]) {
    static SHOWN: LazyLock<Mutex<BTreeSet<String>>> = LazyLock::new(Mutex::default);
    if masters.is_empty() {
        return;
    }
    metric::redis_masters().set(number(masters.len() as u64));
    let mut shown = SHOWN.lock();
    for node in std::mem::take(&mut *shown) {
        metric::redis_node_up(node).set(f64::NAN);
    }
    for (node, is_up) in masters {
        metric::redis_node_up(node.clone()).set(f64::from(u8::from(*is_up)));
        shown.insert(node.clone());
    }
}

/// Shows the memory that the fullest master uses, and its limit; NaN if they are unknown.
fn show_memory(memory: Option<(u64, u64)>) {
    let (used, limit) = memory.map_or((f64::NAN, f64::NAN), |(used, limit)| (number(used), number(limit)));
    metric::redis_memory_bytes().set(used);
    metric::redis_memory_limit_bytes().set(limit);
}

/// Shows the state of the queues; NaN if it is unknown, since stale values would be mistaken for current values.
fn show_queues(queues: Option<&(Backlog, Transit)>) {
    let show = |gauge: Gauge, value: fn(&Backlog, &Transit) -> f64| {
        gauge.set(queues.map_or(f64::NAN, |(backlog, transit)| value(backlog, transit)));
    };
    show(metric::fanout_jobs(), |backlog, _| number(backlog.jobs));
    show(metric::fanout_oldest_seconds(), |backlog, _| backlog.oldest.as_secs_f64());
    show(metric::fanout_failed_jobs(), |backlog, _| number(backlog.failed));
    show(metric::sweep_jobs(), |backlog, _| number(backlog.sweeps));
    show(metric::publishing_posts(), |backlog, _| number(backlog.publishing));
    show(metric::archive_pending_posts(), |_, transit| number(transit.pending));
    show(metric::archive_moving_posts(), |_, transit| number(transit.moving));
    show(metric::archive_oldest_seconds(), |_, transit| transit.oldest.as_secs_f64());
    show(metric::archive_unmovable_posts(), |_, transit| number(transit.unmovable));
    if let Some((backlog, transit)) = queues {
        metric::deliveries_total().absolute(backlog.served);
        metric::archived_posts_total().absolute(transit.moved);
    }
}

#[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
fn number(count: u64) -> f64 {
    count as f64
}
