//! Whether the server lives, and whether it should be sent requests.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::http::Server;

/// How long Redis may take to answer before the server counts as not ready.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the archive may take to answer: no longer than whoever asks this page is likely to wait.
const ARCHIVE_PATIENCE: Duration = Duration::from_millis(500);

/// `/healthz`: this process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `/readyz`: this process can do its work. Asks Redis, and the archive. Without the archive it can do most of
/// its work, and is ready; but it tells.
pub(super) async fn ready(State(server): State<Arc<Server>>) -> Response {
    if *server.stopping.borrow() {
        return unready("stopping\n");
    }
    let app = server.api.app();
    let redis = tokio::time::timeout(PATIENCE, app.is_ready());
    let archive = tokio::time::timeout(ARCHIVE_PATIENCE, app.is_archive_ready());
    match tokio::join!(redis, archive) {
        (Ok(Ok(())), Ok(true)) => "ready\n".into_response(),
        (Ok(Ok(())), _) => "ready\narchive: not usable now\n".into_response(),
        (_, _) => unready("redis: not reachable\n"),
    }
}

fn unready(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
