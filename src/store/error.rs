//! What can go wrong between here and Redis.
//!
//! Not here: what a client is told (`app::error`, `graphql::error`).

use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerErrorKind};

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
}

impl Error {
    pub(crate) fn corrupt(what: impl Into<Box<str>>) -> Self {
        Self::Corrupt(what.into())
    }

    /// What is told when there is no connection, or no answer, in time.
    pub(super) fn no_answer() -> RedisError {
        (ErrorKind::Io, "Redis did not answer in time").into()
    }

    /// Whether Redis would read but not write: its memory or disk is full, or it is a replica.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        match self {
            Self::Unavailable(error) | Self::Refused(error) => error.code().is_some_and(refuses_writes),
            Self::Corrupt(_) => false,
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        let not_now = match error.kind() {
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
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

impl From<redis::ParsingError> for Error {
    fn from(error: redis::ParsingError) -> Self {
        Self::corrupt(error.to_string())
    }
}

/// `EXECABORT` stands for what a transaction's commands were refused for.
fn refuses_writes(code: &str) -> bool {
    matches!(code, "OOM" | "MISCONF" | "READONLY" | "NOREPLICAS" | "EXECABORT")
}
