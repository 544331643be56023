//! What can go wrong, in three kinds: *invalid* (the input has no such form), *refused* (well-formed,
//! the rules say no), *broken* (our fault). A thing that is not there is an `Option`, not an error.
//!
//! Not here: codes and messages as a client sees them (`graphql::error`).

use std::time::Duration;

use crate::archive;
use crate::budget::Exceeded;
use crate::model::region::{Part, Region};
use crate::model::text::{Breach, Violation};
use crate::store;

/// Why something was not done. Cheap to clone: one failure may answer many questions.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// The input has no such form; the message says which rule it breaks.
    #[error("{0}")]
    Invalid(String),
    /// The rules say no.
    #[error("refused: {0:?}")]
    Refused(Refused),
    /// Our fault, or that of something we stand on.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// The ways to be refused.
#[derive(Clone, Debug)]
pub enum Refused {
    /// Nobody is signed in, and this needs somebody.
    Unauthenticated,
    /// A token was presented that opens no session.
    BadToken,
    /// Too many passwords are waiting to be hashed.
    Busy {
        /// When to come back.
        retry_after: Duration,
    },
    /// More has happened since than is told one by one.
    Resync,
    /// The operation needs more than it may use.
    OverBudget(Exceeded),
    /// Rules that a person can do something about.
    Rules(Vec<Refusal>),
}

/// One rule that was not kept.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Refusal {
    /// Which kind of rule.
    pub reason: Reason,
    /// The rule, as a sentence for a person.
    pub message: String,
    /// The input at fault, if it is a single one.
    pub field: Option<Field>,
}

/// The kinds of rules.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Reason {
    /// Characters or form.
    Invalid,
    /// Fewer characters than needed.
    TooShort,
    /// More characters than allowed.
    TooLong,
    /// The name belongs to somebody.
    Taken,
    /// No such thing.
    NotFound,
    /// The username or the password is wrong; which one is not told.
    WrongCredentials,
    /// One cannot do this to oneself.
    Oneself,
    /// The user follows as many as it may.
    FollowLimit,
    /// It is somebody else's.
    NotYours,
    /// An idempotency key was used for something else before.
    IdempotencyMismatch,
    /// It was tried too often.
    Throttled,
}

/// The inputs that rules are about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named like the input it stands for")]
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

/// The ways to be broken. The cause is for the log, never for the client.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Broken {
    /// The store does not answer, or not now.
    #[error("the store cannot be reached")]
    Unreachable(#[source] store::error::Error),
    /// The store answers what it should not.
    #[error("the store failed")]
    Store(#[source] store::error::Error),
    /// The archive does not answer, or not now.
    #[error("the archive cannot be used now")]
    ArchiveAway(#[source] archive::error::Error),
    /// The archive answers what it should not, or does not let us in.
    #[error("the archive failed")]
    Archive(#[source] archive::error::Error),
    /// The archive has the posts of another store.
    #[error(
        "this Redis keeps its old posts in another archive than this one ({0}). Name that one with --archive-url; \
         only if it is lost for good, `fanfold archive adopt` goes on with this one"
    )]
    ForeignArchive(String),
    /// A write took longer than a writer may live; the repairer finishes it.
    #[error("a write took too long and was left to the repairer")]
    Late,
    /// The record of a user who is known to exist is not there.
    #[error("user {0} has no record")]
    NoRecord(crate::model::id::UserId),
    /// A password could not be hashed or verified.
    #[error("password hashing failed: {0}")]
    Hashing(String),
    /// Something that should have worked in a few attempts did not.
    #[error("gave up after several attempts: {0}")]
    GaveUp(&'static str),
}

impl Error {
    /// Refused for one rule.
    #[must_use]
    pub fn rule(reason: Reason, field: impl Into<Option<Field>>, message: impl Into<String>) -> Self {
        let refusal = Refusal { reason, message: message.into(), field: field.into() };
        Self::Refused(Refused::Rules(vec![refusal]))
    }

    /// What it says, and why.
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

    /// Whether nothing can be done now, rather than not this.
    #[must_use]
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Broken(Broken::Unreachable(_)))
    }

    /// Whether it is what was read or written that is at fault.
    #[must_use]
    pub(super) fn is_about_data(&self) -> bool {
        use archive::error::Error as Archived;
        match self {
            Self::Broken(Broken::Archive(error)) => {
                matches!(error, Archived::Refused(_) | Archived::Corrupt(_))
            }
            Self::Broken(Broken::Store(error)) => error.is_about_data(),
            _ => false,
        }
    }

    /// Whether only the archive is away, and may come back by itself.
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
            store::error::Error::Refused(_) | store::error::Error::Corrupt(_) => Broken::Store(error),
        })
    }
}

impl From<Exceeded> for Error {
    fn from(exceeded: Exceeded) -> Self {
        Self::Refused(Refused::OverBudget(exceeded))
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

/// Checks several inputs and collects what is wrong with them, so that a person learns of all faults
/// at once.
#[derive(Default)]
pub(super) struct Faults(Vec<Refusal>);

impl Faults {
    /// The value, or a fault of this field.
    pub(super) fn check<T>(&mut self, field: Field, checked: Result<T, Violation>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(Violation { breach, rule }) => {
                let reason = match breach {
                    Breach::TooShort => Reason::TooShort,
                    Breach::TooLong => Reason::TooLong,
                    Breach::Invalid => Reason::Invalid,
                };
                self.0.push(Refusal { reason, message: rule, field: Some(field) });
                None
            }
        }
    }

    /// The same of a region, whose parts are fields of their own.
    pub(super) fn check_region(&mut self, found: Result<Region, (Part, Violation)>) -> Option<Region> {
        let (field, checked) = match found {
            Ok(region) => return Some(region),
            Err((Part::Country, violation)) => (Field::Country, Err(violation)),
            Err((Part::Subdivision, violation)) => (Field::Subdivision, Err(violation)),
        };
        self.check(field, checked)
    }

    /// An error of all faults found; the values that were checked exist only if there are none.
    pub(super) fn into_error(self) -> Error {
        Error::Refused(Refused::Rules(self.0))
    }
}
