//! Whether the server lives, and whether it should be sent requests.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::app::{App, Readiness};
use crate::http::Server;

/// How long Redis may take to answer before the server counts as not ready.
const PATIENCE: Duration = Duration::from_secs(2);
/// How long the archive may take to answer: no longer than whoever asks this page is likely to wait.
const ARCHIVE_PATIENCE: Duration = Duration::from_millis(500);
/// How long a result is cached, so that the page costs one write and one query a second however often it is asked.
const CACHED: Duration = Duration::from_secs(1);

/// What Redis and the archive have answered, and when. Held while they are asked, so that they are asked once.
#[derive(Default)]
pub(super) struct Health(Mutex<Option<(Instant, Readiness, bool)>>);

impl Health {
    /// How Redis stands, and whether the archive answers.
    async fn read(&self, app: &App) -> (Readiness, bool) {
        let mut cached = self.0.lock().await;
        if let Some((at, redis, archive)) = *cached
            && at.elapsed() < CACHED
        {
            return (redis, archive);
        }
        let redis = timeout(PATIENCE, app.is_ready());
        let archive = timeout(ARCHIVE_PATIENCE, app.is_archive_ready());
        let (redis, archive) = tokio::join!(redis, archive);
        let (redis, archive) = (redis.unwrap_or(Readiness::Away), archive.unwrap_or(false));
        *cached = Some((Instant::now(), redis, archive));
        (redis, archive)
    }
}

/// `/healthz`: this process answers.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `/readyz`: this process can do its work. Tries to write to Redis, and asks the archive. Without the archive, or
/// while Redis is full, it can do most of its work, and is ready; but it tells.
pub(super) async fn ready(State(server): State<Arc<Server>>) -> Response {
    if *server.stopping.borrow() {
        return unready("stopping\n");
    }
    let app = server.api.app();
    let (redis, archive) = server.health.read(app).await;
    // What the mover has just met is not cached.
    match (redis, archive && !app.is_archiving_stuck()) {
        (Readiness::Ready, true) => "ready\n".into_response(),
        (Readiness::Ready, false) => "ready\narchive: not usable now\n".into_response(),
        (Readiness::Full, _) => "ready\nredis: full\n".into_response(),
        (Readiness::ReadOnly, _) => unready("redis: takes no writes\n"),
        (Readiness::Away, _) => unready("redis: not reachable\n"),
    }
}

fn unready(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
