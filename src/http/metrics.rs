//! `/metrics`: figures for a monitoring system, in the text form of Prometheus.

use std::cell::RefCell;
use std::collections::HashMap;
use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::future::try_join;
use metrics::{
    Counter, Histogram, counter, describe_counter, describe_gauge, describe_histogram, gauge, histogram,
};
use metrics_exporter_prometheus::{Matcher, PrometheusBuilder, PrometheusHandle};

use crate::app::archive::Transit;
use crate::app::delivery::Backlog;
use crate::budget::Resource;
use crate::http::{Server, response};

/// How long Redis may take to tell how the queues stand.
const PATIENCE: Duration = Duration::from_secs(2);

/// How often what was recorded is put in order, or it would grow until somebody asks for it.
const UPKEEP: Duration = Duration::from_secs(5);

/// Seconds: what requests take.
const REQUEST_SECONDS: [f64; 12] = [0.001, 0.002_5, 0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 10.0];
/// Seconds: what round trips to Redis take.
const REDIS_SECONDS: [f64; 11] =
    [0.000_1, 0.000_25, 0.000_5, 0.001, 0.002_5, 0.005, 0.01, 0.025, 0.1, 0.5, 2.5];
/// What an operation may use: commands, statements, bytes.
const USED: [f64; 9] = [1.0, 10.0, 100.0, 1_000.0, 10_000.0, 100_000.0, 1e6, 1e7, 1e8];
/// Questions that travel together.
const QUESTIONS: [f64; 9] = [1.0, 2.0, 5.0, 10.0, 25.0, 50.0, 100.0, 1_000.0, 10_000.0];

/// The recorder of the process; `None` if it has another one already.
static RECORDER: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let buckets = |builder: PrometheusBuilder, name: &str, buckets: &[f64]| {
        builder.set_buckets_for_metric(Matcher::Full(name.to_owned()), buckets).ok()
    };
    let builder = buckets(PrometheusBuilder::new(), "fanfold_request_seconds", &REQUEST_SECONDS)?;
    let builder = buckets(builder, "fanfold_redis_seconds", &REDIS_SECONDS)?;
    let builder = buckets(builder, "fanfold_loader_questions", &QUESTIONS)?;
    let builder = buckets(builder, "fanfold_operation_cost", &USED)?;
    let builder = buckets(builder, "fanfold_operation_used", &USED)?;
    let handle = builder.install_recorder().ok()?;
    describe_histogram!("fanfold_operation_cost", "What operations were predicted to cost.");
    describe_histogram!("fanfold_operation_used", "What operations used of each resource.");
    describe_counter!(
        "fanfold_operations_over_budget_total",
        "Operations that exceeded a limit, by resource."
    );
    describe_counter!(
        "fanfold_requests_total",
        "Operations that were answered, by type and by what became of them."
    );
    describe_histogram!("fanfold_request_seconds", "How long they took, from the head of the request on.");
    describe_counter!("fanfold_documents_refused_total", "Documents that were not executed, by the reason.");
    describe_histogram!("fanfold_loader_questions", "Questions of a query that were asked together.");
    describe_histogram!(
        "fanfold_redis_seconds",
        "How long round trips to Redis took, by what they were for."
    );
    describe_counter!("fanfold_redis_errors_total", "Round trips to Redis that were not answered.");
    describe_counter!(
        "fanfold_unreadable_total",
        "How often stored data could not be read and was left out, by its kind."
    );
    describe_gauge!("fanfold_redis_up", "Whether Redis answers.");
    describe_gauge!("fanfold_redis_connections", "Connections to Redis.");
    describe_gauge!("fanfold_archive_connections", "Connections to the archive.");
    describe_gauge!("fanfold_documents_remembered", "Documents that are remembered as they were parsed.");
    describe_gauge!("fanfold_persisted_remembered", "Documents that are remembered by their hash.");
    describe_gauge!("fanfold_passwords_waiting", "Passwords that wait to be hashed.");
    describe_gauge!("fanfold_sockets", "WebSockets, and streams of events, that are open.");
    describe_gauge!("fanfold_uptime_seconds", "For how long this process has been serving.");
    describe_gauge!("fanfold_build_info", "Always 1; the label tells the version.");
    describe_gauge!("fanfold_fanout_jobs", "Posts that wait to be delivered, or are being delivered.");
    describe_gauge!("fanfold_fanout_oldest_seconds", "For how long the oldest of them has been waiting.");
    describe_gauge!(
        "fanfold_fanout_failed_jobs",
        "Posts that could not be delivered, or taken out of timelines."
    );
    describe_gauge!("fanfold_sweep_jobs", "Deleted posts that are still to be taken out of timelines.");
    describe_gauge!("fanfold_publishing_posts", "Posts that are being published.");
    describe_gauge!("fanfold_archive_pending_posts", "Posts that wait to be archived.");
    describe_gauge!("fanfold_archive_moving_posts", "Posts that are being archived.");
    describe_gauge!("fanfold_archive_oldest_seconds", "For how long the oldest of both has been waiting.");
    describe_gauge!("fanfold_archive_unmovable_posts", "Posts that the archive did not take.");
    describe_counter!("fanfold_archived_posts_total", "Posts that have been archived, by all processes.");
    describe_counter!("fanfold_deliveries_total", "Timelines that have received a post, by all processes.");
    Some(handle)
});

/// What was recorded before this is lost.
pub(super) fn begin() {
    LazyLock::force(&RECORDER);
}

/// Keeps what is recorded in order. Has no end.
pub(super) async fn keep_up() {
    loop {
        tokio::time::sleep(UPKEEP).await;
        if let Some(recorder) = &*RECORDER {
            recorder.run_upkeep();
        }
    }
}

thread_local! {
    /// Looked up once by each thread: after that, a figure costs no allocation and no lock.
    static COUNTERS: RefCell<HashMap<(&'static str, &'static str), Counter>> = RefCell::default();
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
}

/// An operation of this type was answered with this code, after so long.
pub(super) fn count(kind: &'static str, code: &'static str, took: Duration) {
    COUNTERS.with_borrow_mut(|counters| {
        let requests = || counter!("fanfold_requests_total", "operation" => kind, "code" => code);
        counters.entry((kind, code)).or_insert_with(requests).increment(1);
    });
    // Who watches does so for as long as it likes.
    if kind == "subscription" {
        return;
    }
    DURATIONS.with_borrow_mut(|durations| {
        let duration = || histogram!("fanfold_request_seconds", "operation" => kind);
        durations.entry(kind).or_insert_with(duration).record(took);
    });
}

/// A document was not executed, for this reason.
pub(super) fn refuse(code: &'static str) {
    counter!("fanfold_documents_refused_total", "code" => code).increment(1);
}

/// The response to an operation exceeded a limit when it was printed.
pub(super) fn exceed(resource: Resource) {
    counter!("fanfold_operations_over_budget_total", "resource" => resource.as_str()).increment(1);
}

/// All figures of this process, and those of the queues, which are the same whatever process is asked.
pub(super) async fn page(State(server): State<Arc<Server>>) -> Response {
    let Some(recorder) = &*RECORDER else {
        return (StatusCode::NOT_FOUND, "this process is measured otherwise\n").into_response();
    };
    show_process(&server);
    let app = server.api.app();
    let figures = async { try_join(app.backlog(), app.transit()).await };
    let figures = tokio::time::timeout(PATIENCE, figures).await.ok().and_then(Result::ok);
    gauge!("fanfold_redis_up").set(if figures.is_some() { 1.0 } else { 0.0 });
    match &figures {
        Some((backlog, transit)) => {
            show_backlog(backlog);
            show_transit(transit);
        }
        None => hide_queues(),
    }
    response::text("text/plain; version=0.0.4; charset=utf-8", recorder.render())
}

fn show_process(server: &Server) {
    let app = server.api.app();
    let (documents, persisted) = server.api.remembered_documents();
    gauge!("fanfold_documents_remembered").set(number(documents as u64));
    gauge!("fanfold_persisted_remembered").set(number(persisted as u64));
    gauge!("fanfold_redis_connections").set(app.store().connections());
    gauge!("fanfold_archive_connections").set(app.archive_connections());
    gauge!("fanfold_passwords_waiting").set(number(app.waiting_passwords() as u64));
    gauge!("fanfold_sockets").set(number(server.seats.taken() as u64));
    gauge!("fanfold_uptime_seconds").set(server.began.elapsed().as_secs_f64());
    gauge!("fanfold_build_info", "version" => env!("CARGO_PKG_VERSION")).set(1.0);
}

/// Figures of before would pass for those of now.
fn hide_queues() {
    for name in QUEUES {
        gauge!(name).set(f64::NAN);
    }
}

/// The figures that Redis tells.
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
