//! Signals that ask the process to end.

use std::fs;

use futures::future::select_all;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// The signals that ask the process to end. Once handled here, they no longer end it by themselves.
pub(super) struct Signals(Vec<Signal>);

impl Signals {
    pub(super) fn listen() -> Self {
        // A handler would override `nohup`, which ignores this signal for the program that it starts.
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

/// Returns whether this process ignores a signal. Only Linux provides this information.
fn is_ignored(kind: SignalKind) -> bool {
    fs::read_to_string("/proc/self/status").is_ok_and(|status| ignores(&status, kind))
}

/// Returns whether the status of a process, as in `/proc`, lists the signal as ignored: one bit per signal, the first in
/// the lowest.
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
