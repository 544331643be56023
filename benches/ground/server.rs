//! Starts servers for benches, each in a process of its own.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};
use std::time::Duration;

use rustix::process::{Pid, Signal, kill_process};

use crate::ground::Redis;

/// A server in a process of its own.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
}

impl Server {
    /// Starts the `fanfold` program.
    pub(crate) fn start(redis: &Redis, options: &[&str]) -> Self {
        Self::at(&redis.url(), redis.directory(), options)
    }

    /// Starts the `fanfold` program over the Redis at this address, with an archive in this directory.
    pub(crate) fn at(url: &str, directory: &str, options: &[&str]) -> Self {
        let arguments =
            ["serve", "--http-listen", "127.0.0.1:0", "--redis-url", url, "--data-dir", directory];
        // Another program may be measured for comparison.
        let program = std::env::var("FANFOLD_BENCH_PROGRAM");
        let mut command = Command::new(program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_fanfold")));
        Self::launch(command.args(arguments).args(options).stderr(Stdio::null()))
    }

    /// Starts a server whose first line of output ends with `listens on http://`, its address, and `/`.
    pub(crate) fn launch(command: &mut Command) -> Self {
        let mut process = command.stdin(Stdio::null()).stdout(Stdio::piped()).spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let (_, address) =
            line.trim().split_once("listens on http://").expect("a server says where it listens");
        let address = address.trim_end_matches('/').to_owned();
        Self { process, address }
    }
}

impl Drop for Server {
    /// Asks the server to stop, so that it stops its own processes, and kills it after half a second.
    fn drop(&mut self) {
        if let Some(process) = i32::try_from(self.process.id()).ok().and_then(Pid::from_raw) {
            let _ = kill_process(process, Signal::TERM);
        }
        for _ in 0..50 {
            if !matches!(self.process.try_wait(), Ok(None)) {
                return;
            }
            std::thread::sleep(Duration::from_millis(10));
        }
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
