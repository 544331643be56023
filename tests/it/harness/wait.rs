//! Waiting for what other processes and tasks do.
//!
//! A test waits for an event, and not for a time within which the event usually happens: the machine may be busy.

use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

/// Time within which anything that a test waits for happens, however busy the machine is. Only a test that fails waits
/// this long.
pub(crate) const LIMIT: Duration = Duration::from_mins(1);
/// Time within which what a signal announces arrives. A server that has missed a signal looks after 30 seconds by itself:
/// a test that waited longer would not notice.
pub(crate) const SIGNALLED: Duration = Duration::from_secs(20);
/// Times between two looks. They grow: what happens at once is seen at once, and what takes long costs little.
const PAUSE: [Duration; 2] = [Duration::from_millis(1), Duration::from_millis(20)];

/// The looks at a condition, until it holds or the limit is reached.
struct Looks {
    began: Instant,
    limit: Duration,
    pause: Duration,
}

impl Looks {
    #[allow(clippy::disallowed_methods, reason = "processes take real time")]
    fn begin(limit: Duration) -> Self {
        Self { began: Instant::now(), limit, pause: PAUSE[0] }
    }

    /// Returns the time until the next look; `None` if there is none.
    fn next(&mut self) -> Option<Duration> {
        let pause = self.pause;
        self.pause = (2 * pause).min(PAUSE[1]);
        (self.began.elapsed() < self.limit).then_some(pause)
    }
}

/// Waits until a condition holds. Returns false if it does not hold within the limit.
pub(crate) fn eventually(condition: impl FnMut() -> bool) -> bool {
    happens_within(LIMIT, condition)
}

/// The same, with a limit of its own, for what takes minutes.
pub(crate) fn happens_within(limit: Duration, mut condition: impl FnMut() -> bool) -> bool {
    let mut looks = Looks::begin(limit);
    while !condition() {
        let Some(pause) = looks.next() else { return false };
        std::thread::sleep(pause);
    }
    true
}

/// The same, for a condition that is asynchronous, or with other tasks that go on in the meantime.
pub(crate) async fn eventually_async(mut condition: impl AsyncFnMut() -> bool) -> bool {
    let mut looks = Looks::begin(LIMIT);
    while !condition().await {
        let Some(pause) = looks.next() else { return false };
        tokio::time::sleep(pause).await;
    }
    true
}

/// Stops threads when it is dropped.
pub(crate) struct StopOnDrop<'a>(pub(crate) &'a AtomicBool);

impl Drop for StopOnDrop<'_> {
    fn drop(&mut self) {
        self.0.store(true, Ordering::Relaxed);
    }
}
