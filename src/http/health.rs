//! Serves the liveness and readiness probes.

use std::sync::Arc;
use std::time::Duration;

use axum::extract::State;
use axum::http::StatusCode;
use axum::response::{IntoResponse, Response};
use tokio::sync::Mutex;
use tokio::time::{Instant, timeout};

use crate::app::{App, Readiness};
use crate::http::Server;

/// Timeout of the Redis check. If it elapses, the server reports that it is not ready.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout of the archive check, short enough that probes do not time out first.
const ARCHIVE_TIMEOUT: Duration = Duration::from_millis(500);
/// Time for which results are cached. Limits the cost of `/readyz` to one Redis write and one archive query per second.
const CACHED: Duration = Duration::from_secs(1);

/// The cached results of the Redis and archive checks, and when they were obtained. The lock is held during the checks,
/// so that concurrent requests share the results.
#[derive(Default)]
pub(super) struct Health(Mutex<Option<(Instant, Readiness, bool)>>);

impl Health {
    /// Returns the readiness of Redis, and true if the archive responds. Makes no round trip on a cache hit.
    pub(super) async fn read(&self, app: &App) -> (Readiness, bool) {
        let mut cached = self.0.lock().await;
        if let Some((at, redis, archive)) = *cached
            && at.elapsed() < CACHED
        {
            return (redis, archive);
        }
        let redis = timeout(TIMEOUT, app.is_ready());
        let archive = timeout(ARCHIVE_TIMEOUT, app.is_archive_ready());
        let (redis, archive) = tokio::join!(redis, archive);
        let (redis, archive) = (redis.unwrap_or(Readiness::Away), archive.unwrap_or(false));
        *cached = Some((Instant::now(), redis, archive));
        (redis, archive)
    }
}

/// `/healthz`: reports that this process is alive.
pub(super) async fn alive() -> &'static str {
    "ok\n"
}

/// `/readyz`: reports whether this process can serve requests. Tries to write to Redis, and queries the archive. Most
/// requests succeed even without the archive, while Redis is full, or while an application's keys cannot be fetched. In
/// these cases, the process reports that it is
/// ready, and names the problem.
pub(super) async fn ready(State(server): State<Arc<Server>>) -> Response {
    if *server.stopping.borrow() {
        return unready("stopping\n");
    }
    let app = server.api.app();
    let (redis, archive) = server.health.read(app).await;
    let mut report = "ready\n".to_owned();
    match redis {
        Readiness::Ready => {}
        Readiness::Full => report.push_str("redis: full\n"),
        Readiness::ReadOnly => return unready("redis: read-only\n"),
        Readiness::Away => return unready("redis: unreachable\n"),
    }
    // The state of the archiver and of the keys is in memory, so it is not cached.
    if redis == Readiness::Ready && (!archive || app.is_archiving_stuck()) {
        report.push_str("archive: unavailable\n");
    }
    if app.jwt_keys().is_some_and(|keys| keys.is_failing || keys.keys == 0) {
        report.push_str("jwt: keys unavailable\n");
    }
    report.into_response()
}

fn unready(why: &'static str) -> Response {
    (StatusCode::SERVICE_UNAVAILABLE, why).into_response()
}
