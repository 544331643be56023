//! Shared parts of the benches: their own Redis, and an application on it.

use std::process::{Child, Command, Stdio};
use std::sync::Arc;
use std::time::Duration;

use clap::Parser;
use fanfold::app::App;
use fanfold::archive::Archive;
use fanfold::config::DataConfig;
use fanfold::model::clock::SystemClock;
use fanfold::model::rng::Rng;
use fanfold::store::Store;
use tempfile::TempDir;

/// Returns true under `cargo bench`, and false under `cargo test`.
pub(crate) fn is_measured() -> bool {
    std::env::args().any(|argument| argument == "--bench")
}

#[derive(Parser)]
struct Knobs {
    #[command(flatten)]
    data: DataConfig,
}

/// A Redis server for one bench.
pub(crate) struct Redis {
    process: Child,
    directory: TempDir,
    /// TCP port that the server listens on; `None` if it listens on a unix socket.
    port: Option<u16>,
}

impl Redis {
    /// Starts a server on a TCP port or, without one, on a unix socket.
    pub(crate) fn start(port: Option<u16>) -> Self {
        Self::start_with(port, &[])
    }

    /// Starts a server with further options.
    pub(crate) fn start_with(port: Option<u16>, options: &[&str]) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let program = ["redis-server", "valkey-server"]
            .into_iter()
            .find(|name| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok())
            .expect("`make setup` installs one of them");
        let process = Command::new(program)
            .current_dir(directory.path())
            .args(["--port", &port.unwrap_or(0).to_string(), "--bind", "127.0.0.1"])
            .args(["--unixsocket", "redis.sock", "--save", ""])
            .args(options)
            .stdin(Stdio::null())
            .stdout(Stdio::null())
            .spawn()
            .unwrap();
        let redis = Self { process, directory, port };
        while redis.client().get_connection().is_err() {
            std::thread::sleep(Duration::from_millis(10));
        }
        redis
    }

    pub(crate) fn url(&self) -> String {
        match self.port {
            Some(port) => format!("redis://127.0.0.1:{port}/"),
            None => format!("unix:{}", self.directory.path().join("redis.sock").display()),
        }
    }

    /// Returns the directory of the server's files.
    pub(crate) fn directory(&self) -> &str {
        self.directory.path().to_str().unwrap()
    }

    pub(crate) fn client(&self) -> redis::Client {
        redis::Client::open(self.url()).unwrap()
    }

    /// Opens an application on this Redis, with an archive in the same directory.
    pub(crate) async fn app(&self, options: &[&str]) -> App {
        app_at(&self.url(), self.directory(), options).await
    }
}

/// Opens an application on the Redis at this address, with an archive in this directory.
pub(crate) async fn app_at(url: &str, directory: &str, options: &[&str]) -> App {
    let fixed = ["bench", "--redis-url", url, "--data-dir", directory];
    let DataConfig { redis, rules, archive } = Knobs::parse_from(fixed.iter().chain(options)).data;
    let archive = Archive::new(&archive, &redis.data_dir).unwrap();
    let store = Store::open(&redis).await.unwrap();
    App::new(store, archive, Arc::new(SystemClock), Rng::from_seed(1), rules)
}

impl Drop for Redis {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
