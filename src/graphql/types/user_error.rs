//! Refusals that a client can show to a person.

use async_graphql::{Enum, SimpleObject};

use crate::app::error::{Error, Field, Reason, Refusal, Refused};

/// The kinds of refusals.
#[derive(Clone, Copy, Enum, PartialEq, Eq)]
#[graphql(remote = "Reason")]
pub(in crate::graphql) enum UserErrorCode {
    /// Characters or a form that the field does not take.
    Invalid,
    /// Fewer characters than the field needs.
    TooShort,
    /// More characters than the field takes.
    TooLong,
    /// The name belongs to somebody else.
    Taken,
    /// There is no such thing.
    NotFound,
    /// The username or the password is wrong.
    WrongCredentials,
    /// One cannot do this to oneself.
    #[graphql(name = "SELF")]
    Oneself,
    /// The viewer follows as many users as one may.
    FollowLimit,
    /// It is somebody else's.
    NotYours,
    /// The idempotency key was used for something else before.
    IdempotencyMismatch,
    /// There were too many attempts; the message tells when the next one is heard. What was sent was not looked at.
    Throttled,
}

/// A refusal that the client can show to a person.
#[derive(SimpleObject)]
pub(in crate::graphql) struct UserError {
    /// Which kind of refusal.
    code: UserErrorCode,
    /// The rule that was not kept, as a sentence for a person.
    message: String,
    /// The path of the input field at fault, such as input and username; null if no single field is.
    field: Option<Vec<&'static str>>,
}

impl From<Refusal> for UserError {
    fn from(Refusal { reason, message, field }: Refusal) -> Self {
        Self { code: reason.into(), message, field: field.map(path) }
    }
}

/// Where a field stands in the inputs of the schema.
fn path(field: Field) -> Vec<&'static str> {
    let name = match field {
        Field::Username => "username",
        Field::Password => "password",
        Field::DisplayName => "displayName",
        Field::Bio => "bio",
        Field::Label => "label",
        Field::CurrentPassword => "currentPassword",
        Field::NewPassword => "newPassword",
        Field::SessionId => "sessionId",
        Field::UserId => "userId",
        Field::Content => "content",
        Field::Platform => "platform",
        Field::IdempotencyKey => "idempotencyKey",
        Field::PostId => "postId",
        Field::Country => return vec!["input", "region", "country"],
        Field::Subdivision => return vec!["input", "region", "subdivision"],
    };
    vec!["input", name]
}

/// What was done, or the refusals that a person can do something about. Other errors stay errors.
pub(in crate::graphql) fn split<T>(done: Result<T, Error>) -> Result<(Option<T>, Vec<UserError>), Error> {
    match done {
        Ok(value) => Ok((Some(value), Vec::new())),
        Err(Error::Refused(Refused::Rules(refusals))) => {
            Ok((None, refusals.into_iter().map(UserError::from).collect()))
        }
        Err(error) => Err(error),
    }
}
