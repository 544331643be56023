//! Handles the signals that ask the process to end.

use std::fs;

use futures::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handlers for the signals that ask the process to end. A signal that has a handler no longer ends the process by
/// itself.
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    pub(super) fn listen() -> Self {
        // A handler would override `nohup`, which makes the program that it starts ignore SIGHUP.
        let hangup = (!is_ignored(SignalKind::hangup())).then(SignalKind::hangup);
        let kinds = [SignalKind::interrupt(), SignalKind::terminate(), SignalKind::quit()];
        // A signal without a handler ends the process by itself.
        Self(kinds.into_iter().chain(hangup).filter_map(|kind| signal(kind).ok()).collect())
    }

    /// Waits for the next signal.
    pub(super) async fn next(&mut self) {
        if self.0.is_empty() {
            return std::future::pending().await;
        }
        let next = self.0.iter_mut().map(|signal| Box::pin(signal.recv()));
        select_all(next).await;
    }
}

/// Returns true if this process ignores a signal; false on systems other than Linux, which do not provide this
/// information.
fn is_ignored(kind: SignalKind) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, kind))
}

/// Returns true if a process status, as in `/proc`, lists the signal as ignored. The mask has one bit per signal; the
/// lowest bit is signal 1.
fn ignores(status: &str, kind: SignalKind) -> bool {
    let ignored = status.lines().find_map(|line| line.strip_prefix("SigIgn:"));
    let ignored = ignored.and_then(|mask| u64::from_str_radix(mask.trim(), 16).ok()).unwrap_or(0);
    ignored >> (kind.as_raw_value() - 1) & 1 == 1
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_signals_that_a_process_ignores_are_bits_of_its_status() {
        let status = "Name:\tfanfold\nSigBlk:\t0000000000000001\nSigIgn:\t0000000000001006\n";
        assert!(ignores(status, SignalKind::interrupt()) && ignores(status, SignalKind::pipe()));
        assert!(!ignores(status, SignalKind::hangup()) && !ignores("", SignalKind::hangup()));
        assert!(ignores("SigIgn:\t0000000000000001", SignalKind::hangup()));
    }
}
