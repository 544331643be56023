//! Programs other than Fanfold, which run to their end.

use std::io::Read;
use std::process::{Child, Command, ExitStatus, Stdio};
use std::thread::{self, JoinHandle};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::harness::wait::happens_within;

/// Time after which a program is ended. The slowest, a visitor in a browser, takes some minutes.
const RUN_MAX: Duration = Duration::from_mins(15);

/// Runs a program to its end. Returns whether it succeeded, and its output. A program that runs for too long is ended,
/// so that its output shows where it waited.
pub(crate) fn outcome(program: &mut Command) -> (bool, String) {
    let mut child = program
        .stdin(Stdio::null())
        .stdout(Stdio::piped())
        .stderr(Stdio::piped())
        .spawn()
        .expect("the program is there; `make setup-tests` installs it");
    let stdout = read(child.stdout.take().unwrap());
    let stderr = read(child.stderr.take().unwrap());
    let status = end_of(&mut child);
    let [stdout, stderr] = [stdout, stderr].map(|output| output.join().unwrap());
    match status {
        Some(status) if status.success() => (true, stdout),
        Some(_) => (false, format!("{stdout}{stderr}")),
        None => (false, format!("{stdout}{stderr}\n{program:?} was ended after {} s", RUN_MAX.as_secs())),
    }
}

/// Reads an output to its end, on a thread.
fn read(mut output: impl Read + Send + 'static) -> JoinHandle<String> {
    thread::spawn(move || {
        let mut bytes = Vec::new();
        output.read_to_end(&mut bytes).unwrap();
        String::from_utf8_lossy(&bytes).into_owned()
    })
}

/// Waits until a process has ended. Ends it when it has run for too long, and returns nothing then.
fn end_of(process: &mut Child) -> Option<ExitStatus> {
    let mut status = None;
    let has_ended = happens_within(RUN_MAX, || {
        status = process.try_wait().unwrap();
        status.is_some()
    });
    if !has_ended {
        // Lets it end the processes that it has started.
        kill_process(Pid::from_child(process), Signal::TERM).unwrap();
        process.wait().unwrap();
    }
    status
}

/// Runs a program, which must succeed, and returns its standard output.
pub(crate) fn stdout_of(program: &mut Command) -> String {
    let (is_success, stdout) = outcome(program);
    assert!(is_success, "{stdout}");
    stdout
}

/// Runs one of the scripts of `tests/npm`, which must succeed, and returns its standard output.
pub(crate) fn run(script: &str, arguments: &[&str]) -> String {
    let directory = concat!(env!("CARGO_MANIFEST_DIR"), "/tests/npm");
    stdout_of(Command::new("node").arg(script).args(arguments).current_dir(directory))
}
