//! The data directory of a managed Redis server: the locks, the socket and the server process.
//!
//! Three locks coordinate the use of the directory:
//! - The Fanfold process that runs the Redis server holds `fanfold.lock`. A second such process is rejected.
//! - The Redis server receives `redis/redis.lock` as its standard input, so that the file stays locked as long
//!   as the server runs, even if its parent process dies.
//! - Commands that use another process's Redis server share `redis/guests.lock`.
//!
//! If a Fanfold process is killed, its Redis server still responds on the socket. The next Fanfold process
//! takes that server over.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redis::Client;
use rustix::process::{Pid, Signal, kill_process};
use tokio::process::{Child, Command};
use tokio::time::{sleep, timeout};

use crate::config::SecretUrl;
use crate::managed::error::Error;

/// Time allowed for Redis to load its data before Fanfold abandons the start.
const START: Duration = Duration::from_mins(2);
/// Time allowed for Redis to write its data and stop.
const STOP: Duration = Duration::from_secs(15);
/// Polling interval for a Redis server that is not a child process, and delay before a restart.
pub(super) const LOOK: Duration = Duration::from_millis(500);
/// Maximum number of times to poll a Redis server in an undetermined state.
const SETTLE_LOOKS: usize = 20;
/// Redis command-line options. Redis's working directory contains its files, so no option contains a path,
/// which could need escaping.
const OPTIONS: [&str; 22] = [
    "--port",
    "0",
    "--unixsocket",
    "redis.sock",
    "--unixsocketperm",
    "700",
    "--dir",
    ".",
    "--logfile",
    "redis.log",
    "--daemonize",
    "no",
    "--appendonly",
    "yes",
    "--appendfsync",
    "everysec",
    "--save",
    "",
    "--maxmemory-policy",
    "noeviction",
    // Keeps hashes with posts and bios in the compact encoding, however long they are. All versions accept
    // this option name, the older of the option's two names.
    "--hash-max-ziplist-value",
    "8192",
];
/// Maximum length of a Unix socket path, in bytes, on every supported system.
const LONGEST_SOCKET_PATH: usize = 103;

/// A data directory and its contents.
pub(super) struct DataDirectory {
    pub(super) path: PathBuf,
    socket: PathBuf,
}

/// A Redis server that is starting. Dropping this value kills the process, which is safe because Redis has
/// written nothing yet.
struct Starting(Option<Child>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // The process may have exited already.
            let _ = child.start_kill();
        }
    }
}

/// The state of the server at the socket.
enum Reached {
    /// A Redis server that accepts commands.
    Ready,
    /// A Redis server that is loading its data or does not respond in time.
    Busy,
    /// No server listens on the socket.
    Nothing,
}

impl DataDirectory {
    pub(super) fn prepare(data_dir: &Path) -> Result<Self, Error> {
        let failed = |cause| Error::Directory { directory: data_dir.to_owned(), cause };
        // The directory is private: it contains password hashes.
        let private = DirBuilder::new().recursive(true).mode(0o700).create(data_dir.join("redis"));
        private.map_err(failed)?;
        let path = data_dir.canonicalize().map_err(failed)?;
        let socket = path.join("redis/redis.sock");
        let length = socket.as_os_str().len();
        if length > LONGEST_SOCKET_PATH {
            return Err(Error::PathTooLong { socket, length, longest: LONGEST_SOCKET_PATH });
        }
        Ok(Self { path, socket })
    }

    /// Returns the socket as a URL, with all special characters of the path percent-encoded.
    pub(super) fn url(&self) -> SecretUrl {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
        let character = |&byte: &u8| {
            if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        let path: String = self.socket.as_os_str().as_bytes().iter().map(character).collect();
        SecretUrl::from(format!("unix:{path}"))
    }

    fn client(&self) -> Option<Client> {
        Client::open(self.url().expose()).ok()
    }

    fn guests(&self) -> PathBuf {
        self.path.join("redis/guests.lock")
    }

    /// Acquires the lock shared by the commands that use another process's Redis server.
    pub(super) fn guest_lock(&self) -> Result<File, Error> {
        let lock = open_lock(&self.guests());
        let shared = lock.and_then(|lock| lock.lock_shared().map(|()| lock));
        shared.map_err(|cause| Error::Directory { directory: self.path.clone(), cause })
    }

    pub(super) fn in_use(&self) -> Error {
        Error::InUse { directory: self.path.clone(), by: self.lock_holder() }
    }

    /// Acquires the directory's lock; `None` if another process holds it.
    pub(super) fn lock(&self) -> Result<Option<File>, Error> {
        let failed = |cause| Error::Directory { directory: self.path.clone(), cause };
        let Some(mut lock) = lock_file(&self.path.join("fanfold.lock")).map_err(failed)? else {
            return Ok(None);
        };
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Some(lock))
    }

    /// Returns the lock holder's process id, or "unknown".
    fn lock_holder(&self) -> String {
        let mut text = String::new();
        let read =
            File::open(self.path.join("fanfold.lock")).and_then(|mut file| file.read_to_string(&mut text));
        match read {
            Ok(_) if !text.trim().is_empty() => text.trim().to_owned(),
            _ => "unknown".to_owned(),
        }
    }

    async fn reach(&self) -> Reached {
        let Some(client) = self.client() else {
            return Reached::Nothing;
        };
        let ask = async {
            let mut connection = client.get_multiplexed_async_connection().await?;
            redis::cmd("PING").exec_async(&mut connection).await
        };
        match timeout(Duration::from_secs(1), ask).await {
            Ok(Ok(())) => Reached::Ready,
            Ok(Err(error)) if error.is_connection_refusal() || is_missing(&error) => Reached::Nothing,
            Ok(Err(_)) | Err(_) => Reached::Busy,
        }
    }

    /// Starts a Redis server, or takes over a server left running, and waits until the server is ready. If a
    /// server holds its lock without listening, first waits until it listens or stops.
    pub(super) async fn start(&self) -> Result<Option<Child>, Error> {
        for _ in 0..SETTLE_LOOKS {
            match self.reach().await {
                Reached::Nothing => match self.spawn() {
                    Err(Error::Unreachable(_)) => sleep(LOOK).await,
                    spawned => return self.wait_until_ready(Some(spawned?)).await,
                },
                Reached::Ready | Reached::Busy => {
                    tracing::info!("taking over the Redis server left running in {}", self.path.display());
                    return self.wait_until_ready(None).await;
                }
            }
        }
        Err(Error::Unreachable(self.path.clone()))
    }

    /// Waits until another process's Redis server, which may be starting or loading, is ready. Returns false
    /// if there is no such server or it does not become ready in time.
    pub(super) async fn wait_until_reached(&self) -> bool {
        let mut absent = 0;
        let reached = async {
            while absent < SETTLE_LOOKS {
                match self.reach().await {
                    Reached::Ready => return true,
                    Reached::Busy => absent = 0,
                    Reached::Nothing => absent += 1,
                }
                sleep(LOOK).await;
            }
            false
        };
        timeout(START, reached).await.unwrap_or(false)
    }

    /// Waits until no other command uses this process's Redis server.
    async fn wait_for_guests(&self) {
        while let Ok(None) = lock_file(&self.guests()) {
            sleep(LOOK).await;
        }
    }

    /// Starts a Redis server in its own process group. An interrupt from the terminal then reaches only
    /// Fanfold, which shuts Redis down cleanly.
    pub(super) fn spawn(&self) -> Result<Child, Error> {
        let failed = |cause| Error::Directory { directory: self.path.clone(), cause };
        let program = find_program().ok_or(Error::NoProgram)?;
        let alive = lock_file(&self.path.join("redis/redis.lock")).map_err(failed)?;
        let alive = alive.ok_or_else(|| Error::Unreachable(self.path.clone()))?;
        let directory = self.path.join("redis");
        let log = File::options().create(true).append(true).open(self.log()).map_err(failed)?;
        let mut command = Command::new(&program);
        command.args(OPTIONS).current_dir(directory).stdin(alive).stdout(Stdio::null()).stderr(log);
        command.process_group(0);
        command.spawn().map_err(|cause| Error::Spawn { program, cause })
    }

    fn log(&self) -> PathBuf {
        self.path.join("redis/redis.log")
    }

    /// Waits until Redis is ready. Returns the child process, if this process started Redis.
    async fn wait_until_ready(&self, child: Option<Child>) -> Result<Option<Child>, Error> {
        let mut starting = Starting(child);
        let ready = async {
            loop {
                if matches!(self.reach().await, Reached::Ready) {
                    return true;
                }
                if let Some(Ok(Some(_))) = starting.0.as_mut().map(Child::try_wait) {
                    return false;
                }
                sleep(Duration::from_millis(20)).await;
            }
        };
        match timeout(START, ready).await {
            Ok(true) => Ok(starting.0.take()),
            Ok(false) | Err(_) => Err(Error::NotReady { log: self.log(), last_words: self.last_words() }),
        }
    }

    /// Returns the last three lines of the log, which contain the reason for a failed start.
    fn last_words(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.trim_end().lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    pub(super) async fn wait_until_gone(&self, child: &mut Option<Child>) {
        if let Some(child) = child {
            // An error means that the process cannot be waited for: treat it as stopped.
            let _ = child.wait().await;
            return;
        }
        while !matches!(self.reach().await, Reached::Nothing) {
            sleep(LOOK).await;
        }
    }

    pub(super) async fn shut_down(&self, mut child: Option<Child>) {
        if timeout(STOP, self.wait_for_guests()).await.is_err() {
            tracing::warn!("stopping Redis while another command still uses the data directory");
        }
        if let Some(client) = self.client()
            && let Ok(mut connection) = client.get_multiplexed_async_connection().await
        {
            // On success, Redis closes the connection without a response.
            let _ = redis::cmd("SHUTDOWN").exec_async(&mut connection).await;
        }
        if timeout(STOP, self.wait_until_gone(&mut child)).await.is_ok() {
            return;
        }
        tracing::error!("the Redis server in {} did not stop after SHUTDOWN", self.path.display());
        if let Some(mut process) = child {
            terminate(&process);
            if timeout(STOP, process.wait()).await.is_err() {
                // The process may have exited in the meantime.
                let _ = process.kill().await;
            }
        }
    }
}

/// Terminates a process by signal: the fallback when Redis does not respond to commands.
fn terminate(process: &Child) {
    let id = process.id().and_then(|id| i32::try_from(id).ok()).and_then(Pid::from_raw);
    if let Some(id) = id {
        // The process may have exited already.
        let _ = kill_process(id, Signal::TERM);
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Opens and locks a file; `None` if another process holds the lock.
fn lock_file(path: &Path) -> io::Result<Option<File>> {
    let file = open_lock(path)?;
    match file.try_lock() {
        Ok(()) => Ok(Some(file)),
        Err(TryLockError::WouldBlock) => Ok(None),
        Err(TryLockError::Error(error)) => Err(error),
    }
}

fn is_missing(error: &redis::RedisError) -> bool {
    let cause = std::error::Error::source(error).and_then(|cause| cause.downcast_ref::<io::Error>());
    cause.is_some_and(|cause| cause.kind() == io::ErrorKind::NotFound)
}

fn find_program() -> Option<PathBuf> {
    let path = std::env::var_os("PATH")?;
    let directories: Vec<PathBuf> = std::env::split_paths(&path).collect();
    let candidates = ["redis-server", "valkey-server"];
    let mut paths =
        candidates.iter().flat_map(|name| directories.iter().map(move |directory| directory.join(name)));
    paths.find(|path| path.is_file())
}
