//! Errors of the hot store.
//!
//! Not here: errors reported to clients (`app::error`, `graphql::error`).

use std::sync::Arc;

use redis::{ErrorKind, RedisError};

use crate::budget::Exceeded;
use crate::driver;

/// A failure of the hot store. Cheap to clone: one failed batch fails every query in it.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// A command or a connection failed.
    #[error(transparent)]
    Redis(#[from] driver::error::Error),
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
        Self::Redis(driver::error::Error::Unavailable(Arc::new(error.into())))
    }

    fn of_redis(&self) -> Option<&driver::error::Error> {
        if let Self::Redis(error) = self { Some(error) } else { None }
    }

    /// Returns true if Redis did not respond, or reports a temporary error. A retry may succeed.
    #[must_use]
    pub fn is_unavailable(&self) -> bool {
        matches!(self, Self::Redis(driver::error::Error::Unavailable(_)))
    }

    /// Returns true if Redis rejects further data because its memory is full. Reads still succeed.
    #[must_use]
    pub fn is_full(&self) -> bool {
        self.of_redis().is_some_and(driver::error::Error::is_full)
    }

    /// Returns true if Redis serves reads but rejects writes, for example because its memory or disk is full,
    /// or because the server is a replica.
    #[must_use]
    pub fn is_read_only(&self) -> bool {
        self.of_redis().is_some_and(driver::error::Error::is_read_only)
    }

    /// Returns true if the keys of a command are divided between two masters of a cluster. Commands for single keys
    /// succeed.
    #[must_use]
    pub fn is_divided(&self) -> bool {
        self.of_redis().is_some_and(driver::error::Error::is_divided)
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
            Self::Redis(driver::error::Error::Rejected(error)) => match error.code() {
                Some("WRONGTYPE") => true,
                Some("ERR") => {
                    let text = error.to_string();
                    OF_DATA.iter().any(|of_data| text.contains(of_data))
                }
                _ => false,
            },
            Self::Redis(_) | Self::OverBudget(_) => false,
        }
    }
}

impl From<RedisError> for Error {
    fn from(error: RedisError) -> Self {
        Self::Redis(error.into())
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
