//! `/metrics`: figures for a monitoring system, in the text form of Prometheus.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use metrics::{counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::app::delivery::Backlog;
use crate::http::{Server, response};

/// How long Redis may take to tell how the queues stand.
const PATIENCE: Duration = Duration::from_secs(2);

/// The recorder of the process; `None` if it has another one already.
static RECORDER: LazyLock<Option<PrometheusHandle>> = LazyLock::new(|| {
    let handle = PrometheusBuilder::new().install_recorder().ok()?;
    describe_gauge!("fanfold_fanout_jobs", "Posts that wait to be delivered, or are being delivered.");
    describe_gauge!("fanfold_fanout_oldest_seconds", "For how long the oldest of them has been waiting.");
    describe_gauge!(
        "fanfold_fanout_failed_jobs",
        "Posts that could not be delivered, or taken out of timelines."
    );
    describe_gauge!("fanfold_sweep_jobs", "Deleted posts that are still to be taken out of timelines.");
    describe_gauge!("fanfold_publishing_posts", "Posts that are being published.");
    describe_counter!("fanfold_deliveries_total", "Timelines that have received a post, by all processes.");
    Some(handle)
});

/// All figures of this process, and those of the queues, which are the same whatever process is asked.
pub(super) async fn page(State(server): State<Arc<Server>>) -> Response {
    let Some(recorder) = &*RECORDER else {
        return (StatusCode::NOT_FOUND, "this process is measured otherwise\n").into_response();
    };
    let backlog = tokio::time::timeout(PATIENCE, server.api.app().backlog()).await;
    let Ok(Ok(backlog)) = backlog else {
        // Figures of before would pass for those of now.
        return (StatusCode::SERVICE_UNAVAILABLE, "redis: not reachable\n").into_response();
    };
    show(&backlog);
    response::text("text/plain; version=0.0.4; charset=utf-8", recorder.render())
}

fn show(backlog: &Backlog) {
    let Backlog { jobs, oldest, sweeps, served, failed, publishing } = *backlog;
    #[expect(clippy::cast_precision_loss, reason = "a gauge is a double")]
    let number = |count: u64| count as f64;
    gauge!("fanfold_fanout_jobs").set(number(jobs));
    gauge!("fanfold_fanout_oldest_seconds").set(oldest.as_secs_f64());
    gauge!("fanfold_fanout_failed_jobs").set(number(failed));
    gauge!("fanfold_sweep_jobs").set(number(sweeps));
    gauge!("fanfold_publishing_posts").set(number(publishing));
    counter!("fanfold_deliveries_total").absolute(served);
}
