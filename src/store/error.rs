//! Errors of the hot store.
//!
//! Not here: errors reported to clients (`app::error`, `graphql::error`).

use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerErrorKind};

use crate::budget::Exceeded;

/// A failure of the hot store. Cheap to clone: one failed batch fails every query in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No response, or a temporary error response. A retry may succeed.
    #[error("Redis is unreachable or does not respond")]
    Unavailable(#[source] Arc<RedisError>),
    /// Redis rejected a command.
    #[error("Redis rejected a command")]
    Rejected(#[source] Arc<RedisError>),
    /// Stored data is malformed.
    #[error("stored data cannot be read: {0}")]
    Corrupt(Box<str>),
    /// The operation exceeds its budget.
    #[error("an operation exceeds its budget: {0}")]
    OverBudget(Exceeded),
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<Box<str>>) -> Self {
        Self::Corrupt(what.into())
    }

    /// Creates the error for posts whose creation times have not been written yet.
    pub(crate) fn times_unknown() -> Self {
        let error = (ErrorKind::Client, "the creation times of an author's posts are not written yet");
        Self::Unavailable(Arc::new(error.into()))
    }

    /// Creates the error for a connection or response timeout.
    pub(super) fn no_answer() -> RedisError {
        (ErrorKind::Io, "Redis did not respond in time").into()
    }

    /// Returns true if Redis did not respond in time. It may have executed the commands, or may still do so.
    pub(super) fn is_timeout(&self) -> bool {
        matches!(self, Self::Unavailable(error) if error.is_timeout())
    }

    /// Returns true if Redis rejects further data because its memory is full. Reads still succeed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Rejected(error) => error.code() == Some("OOM"),
            Self::Corrupt(_) | Self::OverBudget(_) => false,
        }
    }

    /// Returns true if Redis serves reads but rejects writes, for example because its memory or disk is full,
    /// or because the server is a replica.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Rejected(error) => error.code().is_some_and(rejects_writes),
            Self::Corrupt(_) | Self::OverBudget(_) => false,
        }
    }

    /// Returns true if a master of a cluster rejected a script whose keys are divided between two masters, or if Valkey
    /// rejected the `EXEC` of such a transaction; Redis rejects its commands, and then replies `EXECABORT`. Commands
    /// for single keys succeed.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Rejected(error) => {
                error.code().is_some_and(|code| matches!(code, "ASK" | "TRYAGAIN"))
            }
            Self::Corrupt(_) | Self::OverBudget(_) => false,
        }
    }
}

impl Error {
    /// Returns true if the stored data is at fault and the error persists until the data is repaired: a key
    /// has the wrong type, or a command or script encountered a malformed value.
    #[must_use]
    pub fn is_about_data(&self) -> bool {
        /// Substrings that identify the messages of such errors. In Redis 6.2, a script's error lacks the
        /// error code of the command that failed.
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
            Self::Rejected(error) if error.code() == Some("WRONGTYPE") => true,
            Self::Rejected(error) if error.code() == Some("ERR") => {
                let text = error.to_string();
                OF_DATA.iter().any(|of_data| text.contains(of_data))
            }
            Self::Rejected(_) | Self::Unavailable(_) | Self::OverBudget(_) => false,
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        let not_now = match error.kind() {
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
            // This Redis user's permissions or password are misconfigured; an operator may correct them.
            _ if error.code().is_some_and(|code| matches!(code, "NOPERM" | "NOAUTH" | "WRONGPASS")) => true,
            _ if error.code().is_some_and(rejects_writes) => true,
            ErrorKind::Server(kind) => matches!(
                kind,
                ServerErrorKind::BusyLoading
                    | ServerErrorKind::Ask
                    | ServerErrorKind::TryAgain
                    | ServerErrorKind::ClusterDown
                    | ServerErrorKind::MasterDown
                    | ServerErrorKind::ReadOnly
            ),
            _ => error.is_io_error() || error.is_timeout(),
        };
        if not_now { Self::Unavailable(Arc::new(error)) } else { Self::Rejected(Arc::new(error)) }
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

/// Returns true if an error code means that Redis rejects writes. `BUSY` reports a script that runs too long;
/// `EXECABORT` reports a transaction with a rejected command: in a cluster also while the transaction's slot is moving.
fn rejects_writes(code: &str) -> bool {
    matches!(code, "OOM" | "MISCONF" | "READONLY" | "NOREPLICAS" | "EXECABORT" | "BUSY")
}
