//! Errors of a managed Redis server.

use std::io;
use std::path::PathBuf;

/// The reason why the managed Redis server is unavailable. Where possible, the message states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server program is installed.
    #[error(
        "neither redis-server nor valkey-server found. Install one (Debian, Ubuntu: apt install \
         redis-server; Fedora: dnf install valkey; Arch: pacman -S valkey; macOS: brew install redis), \
         or specify a running server with --redis-url"
    )]
    NoProgram,
    /// Another process uses the directory.
    #[error(
        "the data directory {} is in use by another fanfold process (number {by}); \
         stop that process, or choose another directory with --data-dir", directory.display()
    )]
    InUse {
        /// The data directory.
        directory: PathBuf,
        /// The other process's id.
        by: String,
    },
    /// A Redis server is running but does not respond.
    #[error(
        "a Redis server is still running in {} but does not respond on its socket; stop that process first",
        .0.display()
    )]
    Unreachable(PathBuf),
    /// The data directory cannot be used.
    #[error("the data directory {} cannot be used; choose another with --data-dir", directory.display())]
    Directory {
        /// The data directory.
        directory: PathBuf,
        /// The I/O error.
        #[source]
        cause: io::Error,
    },
    /// The path exceeds the system's limit for socket paths.
    #[error(
        "the path of the data directory is too long: {} has {length} bytes, but the limit for sockets is \
         {longest}; choose a shorter path with --data-dir", socket.display()
    )]
    PathTooLong {
        /// The path of the socket.
        socket: PathBuf,
        /// The path's length, in bytes.
        length: usize,
        /// The maximum length, in bytes.
        longest: usize,
    },
    /// The program could not be started.
    #[error("{} could not be started", program.display())]
    Spawn {
        /// The path of the program.
        program: PathBuf,
        /// The I/O error.
        #[source]
        cause: io::Error,
    },
    /// The program started but exited, or never became ready.
    #[error("Redis did not become ready; the last lines of its log, {}:\n{last_words}", log.display())]
    NotReady {
        /// The Redis log file.
        log: PathBuf,
        /// The last three lines of the log.
        last_words: String,
    },
}
