//! Errors that a client can show to the user.

use async_graphql::{Context, Enum, Object, SimpleObject};

use crate::app::error::{Error, Reason, Rejection, RuleViolation, reasons};
use crate::graphql::context::Scope;
use crate::graphql::directive::list_size;
use crate::graphql::entries::Entries;
use crate::graphql::error::whole_seconds;
use crate::graphql::types::scalar::number;

macro_rules! declare_code {
    ($($(#[$meta:meta])* $reason:ident $(= $name:literal)?,)*) => {
        /// The kind of a user error.
        #[derive(Clone, Copy, Enum, PartialEq, Eq)]
        #[graphql(remote = "Reason")]
        pub(in crate::graphql) enum UserErrorCode {
            $($(#[$meta])* $(#[graphql(name = $name)])? $reason,)*
        }
    };
}
reasons!(declare_code);

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
            field: field.map(|field| field.path().to_vec()),
            limit: limit.map(|limit| number(limit as u64)),
            retry_after_seconds: retry_after.map(|delay| number(whole_seconds(delay))),
        }
    }
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
