//! What can go wrong between here and Redis.
//!
//! Not here: what a client is told (`app::error`, `graphql::error`).

use std::io;
use std::path::PathBuf;
use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::budget::Exceeded;

/// A failure of the hot store. Cheap to clone: one failed batch fails every question in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No answer, or an answer that says "not now". Trying again later may help.
    #[error("Redis cannot be reached or does not answer")]
    Unavailable(#[source] Arc<RedisError>),
    /// Redis refuses what it was sent.
    #[error("Redis refuses a command")]
    Refused(#[source] Arc<RedisError>),
    /// What is stored has not the form it should have.
    #[error("stored data cannot be read: {0}")]
    Corrupt(Box<str>),
    /// The budget of the operation does not allow it.
    #[error("an operation exceeds its budget: {0}")]
    OverBudget(Exceeded),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<Box<str>>) -> Self {
        Self::Corrupt(what.into())
    }

    /// What is told when there is no connection, or no answer, in time.
    pub(super) fn no_answer() -> RedisError {
        (ErrorKind::Io, "Redis did not answer in time").into()
    }

    /// Whether Redis takes no further data because its memory is full. It still serves what it has.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Refused(error) => error.code() == Some("OOM"),
            Self::Corrupt(_) | Self::OverBudget(_) => false,
        }
    }

    /// Whether Redis would read but not write: its memory or disk is full, or it is a replica.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Refused(error) => error.code().is_some_and(refuses_writes),
            Self::Corrupt(_) | Self::OverBudget(_) => false,
        }
    }
}

impl Error {
    /// Whether what is stored is at fault, and stays so until it is repaired: a key of the wrong type, or a value of
    /// the wrong form, also where a script came across it.
    #[must_use]
    pub fn is_about_data(&self) -> bool {
        /// Within the text of an error. A script of Redis 6.2 fails without the code of what it called.
        const OF_DATA: [&str; 8] = [
            "WRONGTYPE",
            "value is not an integer",
            "value is not a valid float",
            "attempt to compare",
            "attempt to perform arithmetic",
            "attempt to index",
            "attempt to concatenate",
            "bad argument",
        ];
        match self {
            Self::Corrupt(_) => true,
            Self::Refused(error) if error.code() == Some("WRONGTYPE") => true,
            Self::Refused(error) if error.code() == Some("ERR") => {
                let text = error.to_string();
                OF_DATA.iter().any(|of_data| text.contains(of_data))
            }
            Self::Refused(_) | Self::Unavailable(_) | Self::OverBudget(_) => false,
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        let not_now = match error.kind() {
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
            // What this user of Redis may do is set up wrongly, and put right some time.
            _ if error.code().is_some_and(|code| matches!(code, "NOPERM" | "NOAUTH" | "WRONGPASS")) => true,
            _ if error.code().is_some_and(refuses_writes) => true,
            ErrorKind::Server(kind) => matches!(
                kind,
                ServerErrorKind::BusyLoading
                    | ServerErrorKind::TryAgain
                    | ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly
            ),
            _ => error.is_io_error() || error.is_timeout(),
        };
        if not_now { Self::Unavailable(Arc::new(error)) } else { Self::Refused(Arc::new(error)) }
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::OverBudget(exceeded)
    }
}

impl From<redis::ParsingError> for Error {
    fn from(error: redis::ParsingError) -> Self {
        Self::corrupt(error.to_string())
    }
}

/// `BUSY` is a script that runs too long, `EXECABORT` stands for what a transaction's commands were refused for.
fn refuses_writes(code: &str) -> bool {
    matches!(code, "OOM" | "MISCONF" | "READONLY" | "NOREPLICAS" | "EXECABORT" | "BUSY")
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
         {longest}; choose a shorter one with --data-dir", socket.display()
    )]
    PathTooLong {
        /// Where the socket would be.
        socket: PathBuf,
        /// The length of that path in bytes.
        length: usize,
        /// The greatest length there may be.
        longest: usize,
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
