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

    /// What is told when the pool cannot give a connection.
    pub(super) fn no_connection() -> RedisError {
        (ErrorKind::Io, "no connection to Redis became free in time").into()
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        let not_now = match error.kind() {
            ErrorKind::Io | ErrorKind::ClusterConnectionNotFound => true,
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
