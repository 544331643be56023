//! Errors of a managed Redis.

use std::io;
use std::path::PathBuf;

/// The reason that the managed Redis is not available. Each message states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum Error {
    /// No server program is installed.
    #[error(
        "neither redis-server nor valkey-server found. Install one (Debian, Ubuntu: apt install \
         redis-server; Fedora: dnf install valkey; Arch: pacman -S valkey; macOS: brew install redis), \
         or specify a running one with --redis-url"
    )]
    NoProgram,
    /// Another process uses the directory.
    #[error(
        "the data directory {} is in use by another fanfold process (number {by}); \
         stop that one, or choose another directory with --data-dir", directory.display()
    )]
    InUse {
        /// The directory.
        directory: PathBuf,
        /// The id of the other process.
        by: String,
    },
    /// A Redis is running but does not respond.
    #[error(
        "a Redis is still running in {} but does not respond on its socket; stop that process first",
        .0.display()
    )]
    Unreachable(PathBuf),
    /// The directory cannot be used.
    #[error("the data directory {} cannot be used; choose another with --data-dir", directory.display())]
    Directory {
        /// The directory.
        directory: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The path exceeds the system's limit for socket paths.
    #[error(
        "the path of the data directory is too long: {} has {length} bytes, but the limit for sockets is \
         {longest}; choose a shorter one with --data-dir", socket.display()
    )]
    PathTooLong {
        /// The path of the socket.
        socket: PathBuf,
        /// The length of that path, in bytes.
        length: usize,
        /// The maximum length.
        longest: usize,
    },
    /// The program could not be started.
    #[error("{} could not be started", program.display())]
    Spawn {
        /// The program.
        program: PathBuf,
        /// The cause.
        #[source]
        cause: io::Error,
    },
    /// The program started but exited, or never became ready.
    #[error("the Redis in the data directory did not become ready; the end of {}:\n{last_words}", log.display())]
    NotReady {
        /// Its log.
        log: PathBuf,
        /// The last lines of the log.
        last_words: String,
    },
}
