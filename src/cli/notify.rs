//! Notifies the service manager, if it is systemd and the service has `Type=notify`: when a service is ready, when it
//! stops, and at intervals, if it has a watchdog, that its threads still run.
//!
//! Notifications that fail are lost: a service does its work without a service manager as well.

use sd_notify::NotifyState;

use crate::worker::Workers;

/// Reports that the service is ready.
pub(super) fn ready() {
    send(NotifyState::Ready);
}

/// Reports that the service is stopping.
pub(super) fn stopping() {
    send(NotifyState::Stopping);
}

/// Reports twice per interval of the watchdog that the service runs. A service with workers reports only after each of
/// them has run a task, so that systemd restarts a service whose threads are stuck. Does not end.
pub(super) async fn keep_alive(workers: Option<&Workers>) {
    let Some(interval) = sd_notify::watchdog_enabled() else {
        return std::future::pending().await;
    };
    loop {
        if let Some(workers) = workers {
            workers.on_each(async || {}).await;
        }
        send(NotifyState::Watchdog);
        tokio::time::sleep(interval / 2).await;
    }
}

fn send(state: NotifyState<'_>) {
    let _ = sd_notify::notify(&[state]);
}
