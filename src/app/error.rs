//! Application errors, in three kinds: *invalid* (malformed input), *rejected* (well-formed, but against the
//! rules), *broken* (a fault on our side). Absence is an `Option`, not an error.
//!
//! Not here: error codes and messages as clients see them (`graphql::error`).

use std::time::Duration;

use crate::archive;
use crate::budget::Exceeded;
use crate::model::region::{Part, Region};
use crate::model::text::{Violation, ViolationKind};
use crate::store;

/// The reason for a failure. Cheap to clone, because one failure may be the result of many fields.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Malformed input; the message states the rule it breaks.
    #[error("{0}")]
    Invalid(String),
    /// Rejected by a rule.
    #[error("rejected: {0:?}")]
    Rejected(Rejection),
    /// A fault of this server or of something it depends on.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// The reasons for rejection.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// Authentication is required.
    Unauthenticated,
    /// The token presented does not belong to any session.
    BadToken,
    /// Too many passwords are waiting to be hashed.
    Busy {
        /// Time after which to retry.
        retry_after: Duration,
    },
    /// Too many events since the cursor to send one by one.
    Resync,
    /// The operation exceeds its budget.
    OverBudget(Exceeded),
    /// Rule violations that the user can correct.
    Rules(Vec<RuleViolation>),
}

/// A violation of one rule.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleViolation {
    /// The kind of rule.
    pub reason: Reason,
    /// The rule, as a sentence for the user.
    pub message: String,
    /// The input at fault, if it is a single one.
    pub field: Option<Field>,
}

/// The kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Invalid characters or format.
    Invalid,
    /// Shorter than the minimum.
    TooShort,
    /// Longer than the maximum.
    TooLong,
    /// The name belongs to another user.
    Taken,
    /// The object does not exist.
    NotFound,
    /// The username or the password is wrong; deliberately not specified which.
    WrongCredentials,
    /// Users cannot do this to themselves.
    Oneself,
    /// The user has reached the follow limit.
    FollowLimit,
    /// The object belongs to another user.
    NotYours,
    /// The idempotency key was used for a different request before.
    IdempotencyMismatch,
    /// Too many attempts.
    Throttled,
}

/// The inputs that rules apply to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named like the input it identifies")]
pub enum Field {
    Username,
    Password,
    DisplayName,
    Bio,
    Label,
    CurrentPassword,
    NewPassword,
    SessionId,
    UserId,
    Content,
    Platform,
    IdempotencyKey,
    PostId,
    Country,
    Subdivision,
}

/// Internal failures. The cause is logged, never sent to the client.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Broken {
    /// The store does not respond, or cannot serve requests now.
    #[error("the store cannot be reached")]
    Unreachable(#[source] store::error::Error),
    /// The store returned an unexpected reply.
    #[error("the store failed")]
    Store(#[source] store::error::Error),
    /// The archive does not respond, or cannot serve requests now.
    #[error("the archive is unavailable")]
    ArchiveAway(#[source] archive::error::Error),
    /// The archive returned an unexpected result, or denied access.
    #[error("the archive failed")]
    Archive(#[source] archive::error::Error),
    /// The archive belongs to another store.
    #[error(
        "this Redis is bound to another archive than this one ({0}). Pass that one with --archive-url; \
         only if it is lost for good, bind Redis to this one with `fanfold archive adopt`"
    )]
    ForeignArchive(String),
    /// A write exceeded its deadline; the repairer finishes it.
    #[error("a write took too long and was left to the repairer")]
    Late,
    /// The record of a user known to exist is missing.
    #[error("user {0} has no record")]
    NoRecord(crate::model::id::UserId),
    /// A password could not be hashed or verified.
    #[error("password hashing failed: {0}")]
    Hashing(String),
    /// An operation did not succeed within several attempts.
    #[error("gave up after several attempts: {0}")]
    GaveUp(&'static str),
}

impl Error {
    /// Creates a rejection for one rule violation.
    #[must_use]
    pub fn rule(reason: Reason, field: impl Into<Option<Field>>, message: impl Into<String>) -> Self {
        let violation = RuleViolation { reason, message: message.into(), field: field.into() };
        Self::Rejected(Rejection::Rules(vec![violation]))
    }

    /// Returns the message followed by its chain of causes.
    pub(super) fn causes(&self) -> String {
        let mut causes = self.to_string();
        let mut next = std::error::Error::source(self);
        while let Some(cause) = next {
            causes.push_str(": ");
            causes.push_str(&cause.to_string());
            next = cause.source();
        }
        causes
    }

    /// Returns whether the store is unavailable, as opposed to a failure of this operation alone.
    #[must_use]
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Broken(Broken::Unreachable(_)))
    }

    /// Returns whether the data read or written is at fault.
    #[must_use]
    pub(super) fn is_about_data(&self) -> bool {
        use archive::error::Error as Archived;
        match self {
            Self::Broken(Broken::Archive(error)) => {
                matches!(error, Archived::Rejected(_) | Archived::Corrupt(_))
            }
            Self::Broken(Broken::Store(error)) => error.is_about_data(),
            _ => false,
        }
    }

    /// Returns whether only the archive is unavailable, possibly temporarily.
    #[must_use]
    pub fn is_archive_away(&self) -> bool {
        matches!(self, Self::Broken(Broken::ArchiveAway(_)))
    }
}

impl From<store::error::Error> for Error {
    fn from(error: store::error::Error) -> Self {
        Self::Broken(match &error {
            store::error::Error::OverBudget(exceeded) => return (*exceeded).into(),
            store::error::Error::Unavailable(_) => Broken::Unreachable(error),
            store::error::Error::Rejected(_) | store::error::Error::Corrupt(_) => Broken::Store(error),
        })
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::Rejected(Rejection::OverBudget(exceeded))
    }
}

impl From<archive::error::Error> for Error {
    fn from(error: archive::error::Error) -> Self {
        if let archive::error::Error::OverBudget(exceeded) = error {
            return exceeded.into();
        }
        Self::Broken(if error.is_passing() { Broken::ArchiveAway(error) } else { Broken::Archive(error) })
    }
}

/// Validates several inputs and collects all violations, so that a user sees them all at once.
#[derive(Default)]
pub(super) struct Faults(Vec<RuleViolation>);

impl Faults {
    /// Returns the value, or records a violation for this field.
    pub(super) fn check<T>(&mut self, field: Field, checked: Result<T, Violation>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(Violation { kind, rule }) => {
                let reason = match kind {
                    ViolationKind::TooShort => Reason::TooShort,
                    ViolationKind::TooLong => Reason::TooLong,
                    ViolationKind::Invalid => Reason::Invalid,
                };
                self.0.push(RuleViolation { reason, message: rule, field: Some(field) });
                None
            }
        }
    }

    /// Does the same for a region, whose parts are separate fields.
    pub(super) fn check_region(&mut self, found: Result<Region, (Part, Violation)>) -> Option<Region> {
        let (field, checked) = match found {
            Ok(region) => return Some(region),
            Err((Part::Country, violation)) => (Field::Country, Err(violation)),
            Err((Part::Subdivision, violation)) => (Field::Subdivision, Err(violation)),
        };
        self.check(field, checked)
    }

    /// Returns an error with all violations found; the checked values are available only if there are none.
    pub(super) fn into_error(self) -> Error {
        Error::Rejected(Rejection::Rules(self.0))
    }
}
