//! A Redis of one's own: a `redis-server` (or `valkey-server`) on a unix socket in the data
//! directory, started, watched and stopped by Fanfold. For trying things and for small deployments.
//!
//! Two locks keep a data directory to one writer. `fanfold.lock` is held by the Fanfold process that
//! runs the Redis; a second one is refused. `redis/redis.lock` is handed to the Redis itself as its
//! standard input, so it stays locked for as long as that process lives, whoever has started it.
//! A Redis left behind by a killed Fanfold answers on the socket and is taken over.

use std::fs::{DirBuilder, File, TryLockError};
use std::io::{self, Read as _, Seek as _, Write as _};
use std::os::unix::ffi::OsStrExt as _;
use std::os::unix::fs::DirBuilderExt as _;
use std::path::{Path, PathBuf};
use std::process::Stdio;
use std::time::Duration;

use redis::Client;
use tokio::process::{Child, Command};
use tokio::sync::oneshot;
use tokio::task::JoinHandle;
use tokio::time::{sleep, timeout};

use crate::config::RedisUrl;

/// How long a Redis may take to load its data before it is given up.
const START: Duration = Duration::from_mins(2);
/// How long a Redis may take to write its data and stop.
const STOP: Duration = Duration::from_secs(30);
/// How often a Redis that is not our child is looked at, and how long to wait before a new start.
const LOOK: Duration = Duration::from_millis(500);
/// How many looks it takes to see what becomes of a Redis that is neither here nor gone.
const SETTLE_LOOKS: usize = 20;
/// Longest path of a unix socket, in bytes, that all systems allow.
const LONGEST_SOCKET_PATH: usize = 103;

/// A running Redis of our own.
pub struct Managed {
    url: RedisUrl,
    role: Role,
}

/// What this process has to do with it.
enum Role {
    /// It runs the Redis.
    Keeper(Watch),
    /// It uses the Redis of another process, which keeps it running while this lock is held.
    Guest(File),
}

struct Watch {
    /// Held as long as this process runs the Redis.
    _lock: File,
    stop: oneshot::Sender<()>,
    task: JoinHandle<()>,
}

impl Managed {
    /// Starts a Redis in this directory, or takes over one that was left behind. Refused if another
    /// Fanfold process has the directory.
    pub async fn start(data_dir: &Path) -> Result<Self, ManagedError> {
        let place = Place::prepare(data_dir)?;
        match place.lock()? {
            Some(lock) => Self::keep(place, lock).await,
            None => Err(place.in_use()),
        }
    }

    /// Like [`Managed::start`], but if another Fanfold process has the directory, its Redis is
    /// used. For commands that work beside a server.
    pub async fn join(data_dir: &Path) -> Result<Self, ManagedError> {
        let place = Place::prepare(data_dir)?;
        if let Some(lock) = place.lock()? {
            return Self::keep(place, lock).await;
        }
        let failed = |cause| ManagedError::Directory { directory: place.directory.clone(), cause };
        let guest = open_lock(&place.guests()).map_err(failed)?;
        guest.lock_shared().map_err(failed)?;
        if place.wait_until_reached().await {
            return Ok(Self { url: place.url(), role: Role::Guest(guest) });
        }
        Err(place.in_use())
    }

    /// Where it listens.
    #[must_use]
    pub fn url(&self) -> &RedisUrl {
        &self.url
    }

    /// Stops the Redis, if this process runs it, once its data is on disk. Commands that use it
    /// beside this process are given some time to end.
    pub async fn stop(self) {
        match self.role {
            Role::Keeper(watch) => {
                // The watcher is gone only if it has panicked; then there is nobody to stop.
                let _ = watch.stop.send(());
                let _ = watch.task.await;
            }
            Role::Guest(lock) => drop(lock),
        }
    }

    async fn keep(place: Place, lock: File) -> Result<Self, ManagedError> {
        let child = place.start().await?;
        let url = place.url();
        let (stop, stopped) = oneshot::channel();
        let task = tokio::spawn(watch(place, child, stopped));
        Ok(Self { url, role: Role::Keeper(Watch { _lock: lock, stop, task }) })
    }
}

/// A Redis that is being started. If the start is given up, the process is ended: nothing was
/// written yet.
struct Starting(Option<Child>);

impl Drop for Starting {
    fn drop(&mut self) {
        if let Some(child) = &mut self.0 {
            // It may have ended by itself.
            let _ = child.start_kill();
        }
    }
}

/// Keeps a Redis running until told to stop, then stops it.
async fn watch(place: Place, mut child: Option<Child>, mut stopped: oneshot::Receiver<()>) {
    loop {
        tokio::select! {
            _ = &mut stopped => return place.shut_down(child).await,
            () = place.wait_until_gone(&mut child) => {}
        }
        tracing::error!("the Redis in {} has stopped; starting it again", place.directory.display());
        sleep(LOOK).await;
        match place.spawn() {
            Ok(started) => child = Some(started),
            Err(error) => tracing::error!(error = %error, "Redis could not be started again"),
        }
    }
}

/// The data directory and what lies in it.
struct Place {
    directory: PathBuf,
    socket: PathBuf,
}

/// What answers on the socket.
enum Reached {
    /// A Redis that serves.
    Ready,
    /// A Redis that is loading or does not answer in time.
    Busy,
    /// Nobody.
    Nothing,
}

impl Place {
    fn prepare(data_dir: &Path) -> Result<Self, ManagedError> {
        let failed = |cause| ManagedError::Directory { directory: data_dir.to_owned(), cause };
        // The data is nobody else's: password hashes are among it.
        std::fs::create_dir_all(data_dir).map_err(failed)?;
        let private = DirBuilder::new().recursive(true).mode(0o700).create(data_dir.join("redis"));
        private.map_err(failed)?;
        let directory = data_dir.canonicalize().map_err(failed)?;
        let socket = directory.join("redis/redis.sock");
        let length = socket.as_os_str().len();
        if length > LONGEST_SOCKET_PATH {
            return Err(ManagedError::PathTooLong { socket, length });
        }
        Ok(Self { directory, socket })
    }

    /// The socket as a URL, in which a path may have no other than plain characters.
    fn url(&self) -> RedisUrl {
        let plain = |byte: u8| byte.is_ascii_alphanumeric() || b"/-._~".contains(&byte);
        let character = |&byte: &u8| {
            if plain(byte) { char::from(byte).to_string() } else { format!("%{byte:02X}") }
        };
        let path: String = self.socket.as_os_str().as_bytes().iter().map(character).collect();
        RedisUrl::from(format!("unix:{path}"))
    }

    fn client(&self) -> Option<Client> {
        Client::open(self.url().expose()).ok()
    }

    /// The lock that those who use another process's Redis share.
    fn guests(&self) -> PathBuf {
        self.directory.join("redis/guests.lock")
    }

    fn in_use(&self) -> ManagedError {
        ManagedError::InUse { directory: self.directory.clone(), by: self.lock_holder() }
    }

    /// The lock of the directory; `None` if another process holds it.
    fn lock(&self) -> Result<Option<File>, ManagedError> {
        let failed = |cause| ManagedError::Directory { directory: self.directory.clone(), cause };
        let Some(mut lock) = lock_file(&self.directory.join("fanfold.lock")).map_err(failed)? else {
            return Ok(None);
        };
        lock.set_len(0).and_then(|()| lock.rewind()).map_err(failed)?;
        writeln!(lock, "{}", std::process::id()).map_err(failed)?;
        Ok(Some(lock))
    }

    /// The number of the process that holds the lock, as far as it is known.
    fn lock_holder(&self) -> String {
        let mut text = String::new();
        let read = File::open(self.directory.join("fanfold.lock"))
            .and_then(|mut file| file.read_to_string(&mut text));
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

    /// Starts a Redis and waits until it serves, or takes over one that was left behind. Of one that
    /// has just been left, or is about to stop, one must wait to see which.
    async fn start(&self) -> Result<Option<Child>, ManagedError> {
        for _ in 0..SETTLE_LOOKS {
            match self.reach().await {
                Reached::Nothing => match self.spawn() {
                    Err(ManagedError::Unreachable(_)) => sleep(LOOK).await,
                    spawned => return self.wait_until_ready(Some(spawned?)).await,
                },
                Reached::Ready | Reached::Busy => {
                    tracing::info!("taking over the Redis left running in {}", self.directory.display());
                    return self.wait_until_ready(None).await;
                }
            }
        }
        Err(ManagedError::Unreachable(self.directory.clone()))
    }

    /// Waits for the Redis of another process, which may be loading or only just starting. `false` if
    /// there is none after all.
    async fn wait_until_reached(&self) -> bool {
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

    /// Waits until nobody uses this process's Redis beside it.
    async fn wait_for_guests(&self) {
        while let Ok(None) = lock_file(&self.guests()) {
            sleep(LOOK).await;
        }
    }

    /// Starts a Redis in a process group of its own, so that an interrupt from the terminal reaches
    /// Fanfold alone, which then stops it in good order.
    fn spawn(&self) -> Result<Child, ManagedError> {
        let failed = |cause| ManagedError::Directory { directory: self.directory.clone(), cause };
        let program = find_program().ok_or(ManagedError::NoProgram)?;
        let alive = lock_file(&self.directory.join("redis/redis.lock")).map_err(failed)?;
        let alive = alive.ok_or_else(|| ManagedError::Unreachable(self.directory.clone()))?;
        let configuration = self.directory.join("redis/redis.conf");
        std::fs::write(&configuration, self.configuration()).map_err(failed)?;
        let mut command = Command::new(&program);
        command.arg(&configuration).stdin(alive).stdout(Stdio::null()).stderr(Stdio::null());
        command.process_group(0);
        command.spawn().map_err(|cause| ManagedError::Spawn { program, cause })
    }

    fn configuration(&self) -> String {
        let path = |path: &Path| quoted(&path.display().to_string());
        let directory = path(&self.directory.join("redis"));
        let socket = path(&self.socket);
        let log = path(&self.log());
        format!(
            "# Written by Fanfold at each start.\n\
             port 0\n\
             unixsocket {socket}\n\
             unixsocketperm 700\n\
             dir {directory}\n\
             logfile {log}\n\
             daemonize no\n\
             appendonly yes\n\
             appendfsync everysec\n\
             save \"\"\n\
             maxmemory-policy noeviction\n"
        )
    }

    fn log(&self) -> PathBuf {
        self.directory.join("redis/redis.log")
    }

    /// Waits until the Redis serves. Its child process, if it is one, is handed back.
    async fn wait_until_ready(&self, child: Option<Child>) -> Result<Option<Child>, ManagedError> {
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
            Ok(false) | Err(_) => {
                Err(ManagedError::NotReady { log: self.log(), last_words: self.last_words() })
            }
        }
    }

    /// The end of the log, where the reason for a failed start stands.
    fn last_words(&self) -> String {
        let text = std::fs::read(self.log()).unwrap_or_default();
        let text = String::from_utf8_lossy(&text);
        let lines: Vec<&str> = text.trim_end().lines().rev().take(3).collect();
        lines.into_iter().rev().collect::<Vec<_>>().join("\n")
    }

    async fn wait_until_gone(&self, child: &mut Option<Child>) {
        if let Some(child) = child {
            // An error means that the process cannot be waited for: treat it as gone.
            let _ = child.wait().await;
            return;
        }
        while !matches!(self.reach().await, Reached::Nothing) {
            sleep(LOOK).await;
        }
    }

    async fn shut_down(&self, mut child: Option<Child>) {
        if timeout(STOP, self.wait_for_guests()).await.is_err() {
            tracing::warn!("stopping although another command still uses the data directory");
        }
        if let Some(client) = self.client()
            && let Ok(mut connection) = client.get_multiplexed_async_connection().await
        {
            // A Redis that obeys closes the connection instead of answering.
            let _ = redis::cmd("SHUTDOWN").exec_async(&mut connection).await;
        }
        if timeout(STOP, self.wait_until_gone(&mut child)).await.is_err() {
            tracing::error!("the Redis in {} does not stop", self.directory.display());
        }
    }
}

fn open_lock(path: &Path) -> io::Result<File> {
    File::options().read(true).write(true).create(true).truncate(false).open(path)
}

/// Opens and locks a file; `None` if another process has it locked.
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

/// A value as the configuration file of Redis wants it.
fn quoted(text: &str) -> String {
    format!("\"{}\"", text.replace('\\', "\\\\").replace('"', "\\\""))
}

/// Why there is no Redis of our own. Each says what to do about it.
#[derive(Debug, thiserror::Error)]
pub enum ManagedError {
    /// Nothing to start.
    #[error(
        "neither redis-server nor valkey-server was found. Install one (Debian, Ubuntu: apt install \
         redis-server; Fedora: dnf install valkey; Arch: pacman -S valkey; macOS: brew install redis), \
         or name a running one with --redis-url"
    )]
    NoProgram,
    /// A second process for one directory.
    #[error(
        "the data directory {} is in use by another fanfold process (number {by}); \
         stop that one, or choose another directory with --data-dir", directory.display()
    )]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// The number of the other process.
        by: String,
    },
    /// A Redis that lives but cannot be spoken to.
    #[error(
        "a Redis is still running in {} but does not answer on its socket; stop that process first",
        .0.display()
    )]
    Unreachable(PathBuf),
    /// The directory cannot be used.
    #[error("the data directory {} cannot be used; choose another with --data-dir", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// The system's limit for socket paths.
    #[error(
        "the path of the data directory is too long: {} has {length} bytes, and a socket may have \
         {LONGEST_SOCKET_PATH}; choose a shorter one with --data-dir", socket.display()
    )]
    PathTooLong {
        /// Where the socket would be.
        socket: PathBuf,
        /// The length of that path in bytes.
        length: usize,
    },
    /// The program did not start.
    #[error("{} could not be started", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// Why not.
        #[source]
        cause: io::Error,
    },
    /// The program started and stopped again, or never served.
    #[error("the Redis in the data directory did not become ready; the end of {} says:\n{last_words}", log.display())]
    NotReady {
        /// Its log.
        log: PathBuf,
        /// The last lines of it.
        last_words: String,
    },
}
