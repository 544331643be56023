//! Handles the signals that ask the process to end, and SIGHUP, which asks a service to read its files again.

use std::fs::{self, File};

use futures::future::select_all;
use rustix::io::Errno;
use tokio::signal::unix::{Signal, SignalKind, signal};

/// Handlers for the signals that ask the process to end. A signal that has a handler no longer ends the process by
/// itself.
pub(super) struct Signals {
    ending: Vec<Signal>,
    hangup: Option<Hangup>,
}

impl Signals {
    /// Listens for signals in a command that ends when its work is done. SIGHUP ends the command as well.
    pub(super) fn listen() -> Self {
        // A handler would override `nohup`, which makes the program that it starts ignore SIGHUP.
        let hangup = (!is_ignored(SignalKind::hangup())).then(SignalKind::hangup);
        let ending = ENDING.into_iter().map(|kind| kind()).chain(hangup);
        // A signal without a handler ends the process by itself.
        Self { ending: ending.filter_map(|kind| signal(kind).ok()).collect(), hangup: None }
    }

    /// Listens for signals in a service, which runs until it is stopped. SIGHUP calls `reload`, unless the terminal of
    /// the service has closed.
    pub(super) fn of_service(reload: impl FnMut() + Send + 'static) -> Self {
        let ending = ENDING.into_iter().filter_map(|kind| signal(kind()).ok()).collect();
        Self { ending, hangup: Hangup::listen(Box::new(reload)) }
    }

    /// Waits for the next signal that asks the process to end. Handles SIGHUP in the meantime.
    pub(super) async fn next(&mut self) {
        tokio::select! {
            () = any(&mut self.ending) => {}
            () = terminal_closed(&mut self.hangup) => {}
        }
    }
}

/// The signals that always ask the process to end.
const ENDING: [fn() -> SignalKind; 3] = [SignalKind::interrupt, SignalKind::terminate, SignalKind::quit];

/// The reaction of a service that has no files to read again.
pub(super) fn nothing_to_reload() {
    tracing::info!("SIGHUP is ignored: there is nothing to reload");
}

async fn any(signals: &mut [Signal]) {
    if signals.is_empty() {
        return std::future::pending().await;
    }
    select_all(signals.iter_mut().map(|signal| Box::pin(signal.recv()))).await;
}

/// Waits until the service's terminal closes.
async fn terminal_closed(hangup: &mut Option<Hangup>) {
    match hangup {
        Some(hangup) => hangup.terminal_closed().await,
        None => return std::future::pending().await,
    }
    // A terminal that closes may send several signals; the second must not stop the service at once.
    *hangup = None;
}

/// The handler of SIGHUP in a service.
///
/// # Why a service ends with its terminal
/// An operator sends SIGHUP to a service that runs in the background, which must not end. The system sends it to a
/// server that was started in a terminal window when the window is closed. That server must end: no one would expect it
/// to keep its port, its data directory and its Redis. A process loses its terminal before it receives this signal, so
/// the two cases can be distinguished.
struct Hangup {
    signal: Signal,
    ends_with_terminal: bool,
    reload: Box<dyn FnMut() + Send>,
}

impl Hangup {
    /// Starts listening. Returns `None` if the system does not allow a handler.
    fn listen(reload: Box<dyn FnMut() + Send>) -> Option<Self> {
        // `nohup` starts a program that outlives its terminal.
        let ends_with_terminal = has_terminal() && !is_ignored(SignalKind::hangup());
        Some(Self { signal: signal(SignalKind::hangup()).ok()?, ends_with_terminal, reload })
    }

    async fn terminal_closed(&mut self) {
        loop {
            self.signal.recv().await;
            if self.ends_with_terminal && !has_terminal() {
                return;
            }
            (self.reload)();
        }
    }
}

/// Returns false if this process has no terminal, because it was started without one or the terminal has closed.
fn has_terminal() -> bool {
    let none = Errno::NXIO.raw_os_error();
    !File::open("/dev/tty").is_err_and(|error| error.raw_os_error() == Some(none))
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
