//! `/metrics`: figures for a monitoring system, in the text form of Prometheus.

use std::sync::{Arc, LazyLock};
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use futures::future::try_join;
use metrics::{counter, describe_counter, describe_gauge, gauge};
use metrics_exporter_prometheus::{PrometheusBuilder, PrometheusHandle};

use crate::app::archive::Transit;
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
    describe_gauge!("fanfold_archive_pending_posts", "Posts that wait to be archived.");
    describe_gauge!("fanfold_archive_moving_posts", "Posts that are being archived.");
    describe_gauge!("fanfold_archive_oldest_seconds", "For how long the oldest of both has been waiting.");
    describe_gauge!("fanfold_archive_unmovable_posts", "Posts that the archive did not take.");
    describe_counter!("fanfold_archived_posts_total", "Posts that have been archived, by all processes.");
    describe_counter!("fanfold_deliveries_total", "Timelines that have received a post, by all processes.");
    Some(handle)
});

/// All figures of this process, and those of the queues, which are the same whatever process is asked.
pub(super) async fn page(State(server): State<Arc<Server>>) -> Response {
    let Some(recorder) = &*RECORDER else {
        return (StatusCode::NOT_FOUND, "this process is measured otherwise\n").into_response();
    };
    let app = server.api.app();
    let figures = async { try_join(app.backlog(), app.transit()).await };
    let Ok(Ok((backlog, transit))) = tokio::time::timeout(PATIENCE, figures).await else {
        // Figures of before would pass for those of now.
        return (StatusCode::SERVICE_UNAVAILABLE, "redis: not reachable\n").into_response();
    };
    show_backlog(&backlog);
    show_transit(&transit);
    response::text("text/plain; version=0.0.4; charset=utf-8", recorder.render())
}

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
