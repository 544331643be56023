//! Starts the `fanfold` program as a server for benches.

use std::io::{BufRead as _, BufReader};
use std::process::{Child, Command, Stdio};

use crate::ground::Redis;

/// A server in a process of its own.
pub(crate) struct Server {
    pub(crate) process: Child,
    pub(crate) address: String,
}

impl Server {
    pub(crate) fn start(redis: &Redis, options: &[&str]) -> Self {
        let directory = redis.directory();
        let arguments =
            ["serve", "--listen", "127.0.0.1:0", "--redis-url", &redis.url(), "--data-dir", directory];
        // Another program may be measured for comparison.
        let program = std::env::var("FANFOLD_BENCH_PROGRAM");
        let mut command = Command::new(program.as_deref().unwrap_or(env!("CARGO_BIN_EXE_fanfold")));
        command
            .args(arguments)
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::piped())
            .stderr(Stdio::null());
        let mut process = command.spawn().unwrap();
        let mut line = String::new();
        BufReader::new(process.stdout.take().unwrap()).read_line(&mut line).unwrap();
        let address = line.trim().strip_prefix("Fanfold listens on http://").unwrap().trim_end_matches('/');
        Self { process, address: address.to_owned() }
    }
}

impl Drop for Server {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
