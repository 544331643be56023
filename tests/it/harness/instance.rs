//! A Redis server as a process.

use std::fs::File;
use std::path::{Path, PathBuf};
use std::process::{Child, Command, Stdio};
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Mutex, MutexGuard, PoisonError};

use redis::{Cmd, Connection, ConnectionLike as _, FromRedisValue, RedisResult};
use tempfile::TempDir;

use crate::harness::port::{accepts_connections, on_free_ports};

/// Returns the installed program: Redis or Valkey.
pub(crate) fn program() -> &'static str {
    let runs = |name: &&str| Command::new(name).arg("--version").stdout(Stdio::null()).status().is_ok();
    ["redis-server", "valkey-server"].into_iter().find(runs).expect("`make setup` installs one of them")
}

/// Creates a directory in memory, if the system has a place with room for it: databases wait for their disk at each commit,
/// and what a killed process has written survives in memory as well.
pub(crate) fn directory_in_memory() -> TempDir {
    let place = "/dev/shm";
    let has_room = rustix::fs::statvfs(place).is_ok_and(|space| space.f_bavail * space.f_frsize >= 1 << 30);
    let directory = if has_room { tempfile::tempdir_in(place) } else { tempfile::tempdir() };
    directory.unwrap()
}

/// The name of the socket that a server begins with.
const SOCKET: &str = "redis.sock";
/// The file of a server's log, in its directory.
const LOG: &str = "redis.log";

/// A server on a socket in a directory of its own. Dropping it ends the server and removes the directory.
pub(crate) struct Instance {
    process: Child,
    directory: TempDir,
    /// The path of its socket.
    socket: PathBuf,
    /// The connection of earlier commands. Tests send very many.
    connection: Mutex<Option<Connection>>,
}

impl Instance {
    pub(crate) fn start(options: &[&str]) -> Self {
        Self::start_if_free(options).expect("its address is free")
    }

    /// The same, with a port beside the socket. Returns the port as well.
    pub(crate) fn start_on_port(options: &[&str]) -> (u16, Self) {
        on_free_ports(|[port]| {
            let instance = Self::start_if_free(&[&["--port", &port.to_string()], options].concat())?;
            Some((port, instance))
        })
    }

    /// The same, with a port among the options. Returns `None` if it is in use.
    pub(crate) fn start_if_free(options: &[&str]) -> Option<Self> {
        let directory = directory_in_memory();
        let process = Self::spawn(directory.path(), options);
        let socket = directory.path().join(SOCKET);
        let mut instance = Self { process, directory, socket, connection: Mutex::default() };
        instance.accepts_connections().then_some(instance)
    }

    fn spawn(directory: &Path, options: &[&str]) -> Child {
        let mut command = Command::new(program());
        command.current_dir(directory).args(["--port", "0", "--unixsocket", SOCKET, "--save", ""]);
        command.args(options).stdin(Stdio::null()).stdout(File::create(directory.join(LOG)).unwrap());
        command.spawn().unwrap()
    }

    /// Kills the server and starts an empty one on the same socket.
    pub(crate) fn restart_empty(&mut self) {
        self.kill();
        // Redis 6.2 writes a snapshot here before it sends one to a client, and would read it.
        drop(std::fs::remove_file(self.directory.path().join("dump.rdb")));
        self.restart(&[]);
    }

    /// Starts the server again, after it was killed, with the files that it has left.
    pub(crate) fn restart(&mut self, options: &[&str]) {
        self.process = Self::spawn(self.directory.path(), options);
        assert!(self.accepts_connections(), "its address is free");
    }

    /// Kills the server.
    pub(crate) fn kill(&mut self) {
        self.process.kill().unwrap();
        self.process.wait().unwrap();
    }

    /// Pauses the server, or resumes it.
    pub(crate) fn pause(&self, pause: bool) {
        let signal = if pause { "-STOP" } else { "-CONT" };
        assert!(Command::new("kill").args([signal, &self.pid().to_string()]).status().unwrap().success());
    }

    pub(crate) fn pid(&self) -> u32 {
        self.process.id()
    }

    pub(crate) fn url(&self) -> String {
        format!("unix:{}", self.socket.display())
    }

    /// Gives the socket a new name. The server listens on it as before, and is not found under the old name any more.
    pub(crate) fn rename_socket(&mut self) {
        static NUMBER: AtomicU32 = AtomicU32::new(0);
        let name = format!("redis{}.sock", NUMBER.fetch_add(1, Ordering::Relaxed));
        let new = self.directory.path().join(name);
        std::fs::rename(std::mem::replace(&mut self.socket, new.clone()), new).unwrap();
    }

    /// Returns the directory of its files.
    pub(crate) fn directory(&self) -> &str {
        self.directory.path().to_str().unwrap()
    }

    /// Waits until it accepts connections. Returns false if its port is in use.
    fn accepts_connections(&mut self) -> bool {
        let (client, log) = (redis::Client::open(self.url()).unwrap(), self.directory.path().join(LOG));
        accepts_connections(&mut self.process, &log, || client.get_connection().is_ok())
    }

    /// Sends a command past the store, as an operator would.
    pub(crate) fn raw<T: FromRedisValue>(&self, words: &[&str]) -> T {
        self.try_raw(words).unwrap()
    }

    pub(crate) fn try_raw<T: FromRedisValue>(&self, words: &[&str]) -> RedisResult<T> {
        let mut command = Cmd::new();
        for word in words {
            command.arg(*word);
        }
        let kept = self.kept().take().filter(Connection::is_open);
        if let Some(mut connection) = kept {
            match command.query(&mut connection) {
                // The server has closed it meanwhile.
                Err(error) if error.is_connection_dropped() => {}
                reply => {
                    *self.kept() = Some(connection);
                    return reply;
                }
            }
        }
        let mut connection = redis::Client::open(self.url())?.get_connection()?;
        let reply = command.query(&mut connection);
        *self.kept() = Some(connection);
        reply
    }

    fn kept(&self) -> MutexGuard<'_, Option<Connection>> {
        self.connection.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl Drop for Instance {
    fn drop(&mut self) {
        let _ = self.process.kill();
        let _ = self.process.wait();
    }
}
