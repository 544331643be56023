//! Application errors of three kinds: *invalid* (malformed input), *rejected* (a well-formed request that
//! breaks a rule or limit) and *broken* (an internal failure). An absent object is `None`, not an error.
//!
//! Not here: the error codes and messages that clients receive (`graphql::error`).

use std::time::Duration;

use crate::archive;
use crate::budget::Exceeded;
use crate::model::region::{Part, Region};
use crate::model::text::{Violation, ViolationKind};
use crate::store;

/// An application error. Cheap to clone, because many fields of a response may fail with the same error.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Error {
    /// Malformed input. The message states the violated rule.
    #[error("{0}")]
    Invalid(String),
    /// A request that breaks a rule or exceeds a limit.
    #[error("rejected: {0:?}")]
    Rejected(Rejection),
    /// A failure of this server or of a service on which it depends.
    #[error(transparent)]
    Broken(#[from] Broken),
}

/// Returns the message of an error, followed by those of its causes. Omits the message of a cause that the error before
/// it repeats.
pub(crate) fn with_causes(error: &(dyn std::error::Error + 'static)) -> String {
    let mut last = error.to_string();
    let mut text = last.clone();
    for cause in std::iter::successors(error.source(), |cause| cause.source()) {
        let message = cause.to_string();
        if message != last {
            text = format!("{text}: {message}");
            last = message;
        }
    }
    text
}

/// The reasons for rejecting a request.
#[derive(Clone, Debug)]
pub enum Rejection {
    /// The request requires authentication.
    Unauthenticated,
    /// Only moderators may do this.
    Forbidden,
    /// The presented token does not belong to an active session.
    BadToken,
    /// The presented JSON Web Token violates a rule.
    BadJwt(JwtFault),
    /// Too many passwords are waiting to be hashed.
    Busy {
        /// Delay after which the client may retry.
        retry_after: Duration,
    },
    /// The events since the cursor cannot be sent individually: they are too many, or not all are known.
    Resync,
    /// The operation exceeds its budget.
    OverBudget(Exceeded),
    /// Rule violations that the user can correct.
    Rules(Vec<RuleViolation>),
}

/// The rules that a JSON Web Token can violate, as clients read them. No message contains a part of the token.
#[derive(Clone, Copy, Debug, PartialEq, Eq, thiserror::Error)]
pub enum JwtFault {
    /// The token is longer than the maximum.
    #[error("The token has more than {limit} bytes.")]
    TooLong {
        /// Maximum length, in bytes.
        limit: usize,
    },
    /// The token has another form, or needs extensions that are not supported.
    #[error("The token is not a signed JSON Web Token.")]
    Malformed,
    /// The signature algorithm is not accepted, or not the one of the token's key.
    #[error("The token's signature algorithm is not accepted.")]
    Algorithm,
    /// The key is not one of the issuer's keys.
    #[error("The token is signed with an unknown key.")]
    UnknownKey,
    /// The signature is wrong.
    #[error("The token's signature is wrong.")]
    Signature,
    /// The token is from another issuer.
    #[error("The token is from another issuer.")]
    Issuer,
    /// The token is for another audience.
    #[error("The token is for another audience.")]
    Audience,
    /// A required claim is missing or malformed.
    #[error("The token's claim `{0}` is missing or malformed.")]
    Claim(&'static str),
    /// The token has expired.
    #[error("The token has expired.")]
    Expired,
    /// The token is not valid yet.
    #[error("The token is not valid yet.")]
    NotYetValid,
    /// The account of the token's subject does not exist any more.
    #[error("The account of this token does not exist any more.")]
    NoAccount,
}

/// A rule violation.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleViolation {
    /// Kind of violation.
    pub reason: Reason,
    /// Violated rule, as a sentence for the user.
    pub message: String,
    /// Input that violates the rule; `None` if no single input does.
    pub field: Option<Field>,
    /// Violated minimum or maximum; `None` if the rule has none.
    pub limit: Option<usize>,
    /// Delay after which the user may retry, if they have made too many attempts.
    pub retry_after: Option<Duration>,
}

impl RuleViolation {
    /// Creates a violation of a rule that states neither a limit nor a delay.
    #[must_use]
    pub fn new(reason: Reason, field: impl Into<Option<Field>>, message: impl Into<String>) -> Self {
        Self { reason, message: message.into(), field: field.into(), limit: None, retry_after: None }
    }
}

/// Passes the kinds of rule violations, with their descriptions in the API, and their names if these differ, to a macro
/// that declares an enum of them.
macro_rules! reasons {
    ($declare:ident) => {
        $declare! {
            /// The value contains invalid characters or has the wrong format.
            Invalid,
            /// The value has too few characters.
            TooShort,
            /// The value has too many characters.
            TooLong,
            /// The username is taken.
            Taken,
            /// The object does not exist.
            NotFound,
            /// The username, the password or the recovery code is wrong.
            WrongCredentials,
            /// The account is suspended, so that its user cannot sign in.
            Suspended,
            /// The account is suspended or deleted, so that a moderator cannot do this.
            Inactive,
            /// The viewer, or the user concerned, signs in with the tokens of another application, which manages
            /// passwords and sign-out.
            ExternalSignIn,
            /// The viewer cannot do this to themselves.
            Oneself = "SELF",
            /// The user, or the author of the post, is a moderator. Only the operator of the server can do this.
            Moderator,
            /// The viewer blocks the user; unblock them first.
            Blocked,
            /// The viewer already follows the maximum number of users, counting those whom the viewer has requested to
            /// follow.
            FollowLimit,
            /// The list has reached its maximum length, for example of muted users, or of pending recovery codes of a
            /// moderator.
            ListLimit,
            /// The post cannot be that visible, or the post that it quotes is not visible to everyone.
            Visibility,
            /// The object belongs to another user, or to the operator of the server.
            NotYours,
            /// The idempotency key was already used for a different request.
            IdempotencyMismatch,
            /// Too many attempts. Retry after `retryAfterSeconds`. Credentials, if any, were not checked.
            Throttled,
            /// No one can register on this server.
            RegistrationClosed,
            /// Registration requires an invite, and the invite is missing, unknown, expired or used up.
            InviteInvalid,
        }
    };
}
pub(crate) use reasons;

macro_rules! declare_reason {
    ($($(#[$meta:meta])* $reason:ident $(= $name:literal)?,)*) => {
        /// The kinds of rule violations.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        pub enum Reason {
            $($(#[$meta])* $reason,)*
        }
    };
}
reasons!(declare_reason);

/// Declares the inputs that rules apply to, each with its path in `input`.
macro_rules! inputs {
    ($($field:ident = $($path:literal),+;)*) => {
        /// The inputs that rules apply to.
        #[derive(Clone, Copy, Debug, PartialEq, Eq)]
        #[expect(missing_docs, reason = "each variant is named after its input")]
        pub enum Field {
            $($field,)*
        }

        impl Field {
            /// Returns the path of the input in the schema, from the argument of the mutation.
            #[must_use]
            pub fn path(self) -> &'static [&'static str] {
                match self {
                    $(Self::$field => &["input", $($path),+],)*
                }
            }
        }
    };
}

inputs! {
    Username = "username";
    Password = "password";
    DisplayName = "displayName";
    Bio = "bio";
    AvatarUrl = "avatarUrl";
    Label = "label";
    CurrentPassword = "currentPassword";
    NewPassword = "newPassword";
    SessionId = "sessionId";
    UserId = "userId";
    Until = "until";
    Content = "content";
    Platform = "platform";
    Visibility = "visibility";
    InReplyTo = "inReplyTo";
    QuoteOf = "quoteOf";
    IdempotencyKey = "idempotencyKey";
    PostId = "postId";
    Country = "region", "country";
    Subdivision = "region", "subdivision";
    Invite = "invite";
    InviteId = "inviteId";
    Uses = "uses";
    ExpiresAt = "expiresAt";
    Note = "note";
    Reason = "reason";
    ReportedUser = "target", "userId";
    ReportedPost = "target", "postId";
    ReportId = "reportId";
}

/// Internal failures. The cause is logged, never sent to the client.
#[derive(Clone, Debug, thiserror::Error)]
pub enum Broken {
    /// The store does not respond or cannot currently serve requests.
    #[error("the store is unavailable")]
    Unreachable(#[source] store::error::Error),
    /// The store returned an unexpected reply.
    #[error("the store failed")]
    Store(#[source] store::error::Error),
    /// The archive does not respond or cannot currently serve requests.
    #[error("the archive is unavailable")]
    ArchiveAway(#[source] archive::error::Error),
    /// The archive returned an unexpected result or denied access.
    #[error("the archive failed")]
    Archive(#[source] archive::error::Error),
    /// The archive belongs to another store.
    #[error(
        "Redis is bound to another archive than this one ({0}). Pass that archive with --archive-url; \
         only if it is permanently lost, bind Redis to this one with `fanfold archive adopt`"
    )]
    ForeignArchive(String),
    /// A write exceeded its deadline; the repairer finishes it.
    #[error("a write exceeded its deadline and was left to the repairer")]
    Late,
    /// The record of a user known to exist is missing.
    #[error("user {0} has no record")]
    NoRecord(crate::model::id::UserId),
    /// A password could not be hashed or verified.
    #[error("password hashing failed: {0}")]
    Hashing(String),
    /// All attempts at an operation failed.
    #[error("gave up after several attempts: {0}")]
    GaveUp(&'static str),
}

impl Error {
    /// Creates a rejection for a single rule violation.
    #[must_use]
    pub fn rule(reason: Reason, field: impl Into<Option<Field>>, message: impl Into<String>) -> Self {
        RuleViolation::new(reason, field, message).into()
    }

    /// Creates a rejection for a list that has as many entries as `limit` allows.
    #[must_use]
    pub(super) fn at_limit(reason: Reason, limit: u32, message: String) -> Self {
        let violation = RuleViolation::new(reason, None, message);
        RuleViolation { limit: usize::try_from(limit).ok(), ..violation }.into()
    }

    /// Returns true if the store is unavailable, as opposed to a failure of this operation alone.
    #[must_use]
    pub(super) fn is_unreachable(&self) -> bool {
        matches!(self, Self::Broken(Broken::Unreachable(_)))
    }

    /// Returns true if the data read or written caused the failure.
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

    /// Returns true if the archive is unavailable or failed, as opposed to the store.
    #[must_use]
    pub(super) fn is_about_archive(&self) -> bool {
        matches!(self, Self::Broken(Broken::ArchiveAway(_) | Broken::Archive(_)))
    }

    /// Returns true if only the archive is unavailable, possibly temporarily.
    #[must_use]
    pub fn is_archive_away(&self) -> bool {
        matches!(self, Self::Broken(Broken::ArchiveAway(_)))
    }
}

impl From<RuleViolation> for Error {
    fn from(violation: RuleViolation) -> Self {
        Self::Rejected(Rejection::Rules(vec![violation]))
    }
}

impl From<store::error::Error> for Error {
    fn from(error: store::error::Error) -> Self {
        Self::Broken(match &error {
            store::error::Error::OverBudget(exceeded) => return (*exceeded).into(),
            unavailable if unavailable.is_unavailable() => Broken::Unreachable(error),
            store::error::Error::Redis(_) | store::error::Error::Corrupt(_) => Broken::Store(error),
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

/// A collector of rule violations, so that one error can report the violations of all inputs.
#[derive(Default)]
pub(super) struct Faults(Vec<RuleViolation>);

impl Faults {
    /// Returns the checked value. If it is invalid, records the violation under this field and returns
    /// `None`.
    pub(super) fn check<T>(&mut self, field: Field, checked: Result<T, Violation>) -> Option<T> {
        match checked {
            Ok(value) => Some(value),
            Err(Violation { kind, rule, limit }) => {
                let reason = match kind {
                    ViolationKind::TooShort => Reason::TooShort,
                    ViolationKind::TooLong => Reason::TooLong,
                    ViolationKind::Invalid => Reason::Invalid,
                };
                self.0.push(RuleViolation { limit, ..RuleViolation::new(reason, field, rule) });
                None
            }
        }
    }

    /// Returns the checked region. If it is invalid, records the violation under the field of the invalid
    /// part and returns `None`.
    pub(super) fn check_region(&mut self, found: Result<Region, (Part, Violation)>) -> Option<Region> {
        let (field, checked) = match found {
            Ok(region) => return Some(region),
            Err((Part::Country, violation)) => (Field::Country, Err(violation)),
            Err((Part::Subdivision, violation)) => (Field::Subdivision, Err(violation)),
        };
        self.check(field, checked)
    }

    /// Returns the checked value. If it breaks a rule, records the violation and returns `None`.
    pub(super) fn check_rule<T>(&mut self, checked: Result<T, RuleViolation>) -> Option<T> {
        checked.map_err(|violation| self.0.push(violation)).ok()
    }

    /// Returns true if no violation is recorded.
    pub(super) fn is_empty(&self) -> bool {
        self.0.is_empty()
    }

    /// Returns an error with all recorded violations. Call this after any check has returned `None`.
    pub(super) fn into_error(self) -> Error {
        Error::Rejected(Rejection::Rules(self.0))
    }
}
