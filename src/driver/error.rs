//! Errors of the connection to Redis.
//!
//! Not here: errors of what is stored (`store::error`).

use std::sync::Arc;

use redis::{ErrorKind, RedisError, ServerErrorKind};

/// A failure of a command or of a connection. Cheap to clone: one broken connection fails all commands that wait for
/// it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// No response, or a temporary error response. A retry may succeed.
    #[error("Redis is unreachable or does not respond")]
    Unavailable(#[source] Arc<RedisError>),
    /// Redis rejected a command.
    #[error("Redis rejected a command")]
    Rejected(#[source] Arc<RedisError>),
}

impl Error {
    /// Creates the error for a connection or response timeout.
    pub(crate) fn no_answer() -> RedisError {
        (ErrorKind::Io, "Redis did not respond in time").into()
    }

    /// Returns what the `redis` crate reports.
    #[must_use]
    pub fn cause(&self) -> &RedisError {
        let (Self::Unavailable(cause) | Self::Rejected(cause)) = self;
        cause
    }

    /// Returns true if Redis did not respond in time. It may have executed the commands, or may still do so.
    #[must_use]
    pub fn is_timeout(&self) -> bool {
        matches!(self, Self::Unavailable(error) if error.is_timeout())
    }

    /// Returns true if Redis rejects further data because its memory is full. Reads still succeed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.cause().code() == Some("OOM")
    }

    /// Returns true if Redis serves reads but rejects writes, for example because its memory or disk is full,
    /// or because the server is a replica.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.cause().code().is_some_and(rejects_writes)
    }

    /// Returns true if a master of a cluster rejected a script whose keys are divided between two masters, or if Valkey
    /// rejected the `EXEC` of such a transaction; Redis rejects its commands, and then replies `EXECABORT`. Commands
    /// for single keys succeed.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.cause().code().is_some_and(|code| matches!(code, "ASK" | "TRYAGAIN"))
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

/// Returns true if an error code means that Redis rejects writes. `BUSY` reports a script that runs too long;
/// `EXECABORT` reports a transaction with a rejected command: in a cluster also while the transaction's slot is moving.
fn rejects_writes(code: &str) -> bool {
    matches!(code, "OOM" | "MISCONF" | "READONLY" | "NOREPLICAS" | "EXECABORT" | "BUSY")
}

/// The reason why no connection could be opened. Each message states the remedy.
#[derive(Debug, thiserror::Error)]
pub enum OpenError {
    /// The URL is invalid.
    #[error(
        "invalid Redis URL: expected redis://, redis-cluster://, redis-sentinel://, each also as rediss, or unix:, as \
         in redis://user:password@host:6379/0"
    )]
    Url(#[source] RedisError),
    /// The connection failed or timed out.
    #[error(
        "cannot connect to Redis at {address}; check that it is running and that --redis-url is correct, with user and \
         password"
    )]
    Connect {
        /// The address, without the password.
        address: String,
        /// The connection error.
        #[source]
        cause: RedisError,
    },
    /// None of the named servers belongs to a cluster.
    #[error("{0} is not a node of a Redis Cluster; use redis:// or rediss:// for a single server")]
    NoCluster(String),
    /// Only the replicas of a cluster are read.
    #[error("--redis-replica-reads requires a Redis Cluster")]
    ReplicasOfSingle,
}
