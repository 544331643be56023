//! Whether the server lives, and whether it should be sent requests.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};

use crate::http::Server;

/// How long Redis may take to answer before the server counts as not ready.
const PATIENCE: Duration = Duration::from_secs(2);

/// `/healthz`: this process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `/readyz`: this process can do its work. Asks Redis; one round trip.
pub(super) async fn ready(State(server): State<Arc<Server>>) -> Response {
    if *server.stopping.borrow() {
        return unready("stopping\n");
    }
    match tokio::time::timeout(PATIENCE, server.api.app().is_ready()).await {
        Ok(Ok(())) => "ready\n".into_response(),
        Ok(Err(_)) | Err(_) => unready("redis: not reachable\n"),
    }
}

fn unready(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
