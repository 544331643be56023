//! Errors that a client can show to the user.

use async_graphql::{Context, Enum, Object, SimpleObject};

use crate::app::error::{Error, Field, Reason, Rejection, RuleViolation};
use crate::graphql::context::Scope;
use crate::graphql::directive::list_size;
use crate::graphql::entries::Entries;
use crate::graphql::error::whole_seconds;
use crate::graphql::types::scalar::number;

/// The kind of a user error.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "Reason")]
pub(in crate::graphql) enum UserErrorCode {
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
    /// The viewer, or the user concerned, signs in with the tokens of another application, which manages passwords and
    /// sign-out.
    ExternalSignIn,
    /// The viewer cannot do this to themselves.
    #[graphql(name = "SELF")]
    Oneself,
    /// The user, or the author of the post, is a moderator. Only the operator of the server can do this.
    Moderator,
    /// The viewer blocks the user; unblock them first.
    Blocked,
    /// The viewer already follows the maximum number of users, counting those whom the viewer has requested to follow.
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

/// The user errors in a mutation's payload.
#[derive(Default)]
pub(in crate::graphql) struct UserErrors {
    user_errors: Vec<UserError>,
}

/// The user errors in a mutation's payload.
#[Object]
impl UserErrors {
    /// Errors to show to the user; empty on success.
    #[graphql(directive = list_size::apply(Some(1), None, None, None))]
    #[expect(clippy::unused_async, reason = "the library requires it")]
    async fn user_errors(&self, context: &Context<'_>) -> Result<Entries<&UserError>, Error> {
        let errors = &self.user_errors;
        Entries::pay(&Scope::of(context), context, errors.len(), || errors.iter().collect())
    }
}

/// An error that the client can show to the user.
#[derive(SimpleObject)]
pub(in crate::graphql) struct UserError {
    /// The kind of error.
    code: UserErrorCode,
    /// The violated rule, as a sentence to show to the user.
    message: String,
    /// The path of the invalid input field, such as `[input, username]`; null if no single field is at fault.
    field: Option<Vec<&'static str>>,
    /// The limit that the input violates: for `TOO_SHORT` and `TOO_LONG` the minimum or maximum length, in characters,
    /// or in bytes for a password; for `FOLLOW_LIMIT` the maximum number of followed users; for `LIST_LIMIT` the
    /// maximum length of the list; otherwise null.
    limit: Option<i32>,
    /// For `THROTTLED`, the delay after which a retry is admitted, in seconds; otherwise null.
    retry_after_seconds: Option<i32>,
}

impl From<RuleViolation> for UserError {
    fn from(RuleViolation { reason, message, field, limit, retry_after }: RuleViolation) -> Self {
        Self {
            code: reason.into(),
            message,
            field: field.map(path),
            limit: limit.map(|limit| number(limit as u64)),
            retry_after_seconds: retry_after.map(|delay| number(whole_seconds(delay))),
        }
    }
}

/// Returns the path of an input field in the schema.
fn path(field: Field) -> Vec<&'static str> {
    let name = match field {
        Field::Username => "username",
        Field::Password => "password",
        Field::DisplayName => "displayName",
        Field::Bio => "bio",
        Field::AvatarUrl => "avatarUrl",
        Field::Label => "label",
        Field::CurrentPassword => "currentPassword",
        Field::NewPassword => "newPassword",
        Field::SessionId => "sessionId",
        Field::UserId => "userId",
        Field::Until => "until",
        Field::Content => "content",
        Field::Visibility => "visibility",
        Field::InReplyTo => "inReplyTo",
        Field::QuoteOf => "quoteOf",
        Field::Platform => "platform",
        Field::IdempotencyKey => "idempotencyKey",
        Field::PostId => "postId",
        Field::Invite => "invite",
        Field::InviteId => "inviteId",
        Field::Uses => "uses",
        Field::ExpiresAt => "expiresAt",
        Field::Note => "note",
        Field::Reason => "reason",
        Field::ReportId => "reportId",
        Field::Country => return vec!["input", "region", "country"],
        Field::Subdivision => return vec!["input", "region", "subdivision"],
        Field::ReportedUser => return vec!["input", "target", "userId"],
        Field::ReportedPost => return vec!["input", "target", "postId"],
    };
    vec!["input", name]
}

/// Splits a result into its value and the errors that a user can act on. Returns all other errors unchanged.
pub(in crate::graphql) fn split<T>(done: Result<T, Error>) -> Result<(Option<T>, UserErrors), Error> {
    match done {
        Ok(value) => Ok((Some(value), UserErrors::default())),
        Err(Error::Rejected(Rejection::Rules(violations))) => {
            let user_errors = violations.into_iter().map(UserError::from).collect();
            Ok((None, UserErrors { user_errors }))
        }
        Err(error) => Err(error),
    }
}
