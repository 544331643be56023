//! Errors as API clients see them: the only mapping from error kinds to codes.
//!
//! Not here: HTTP status codes (`http::response`).

use std::collections::HashSet;
use std::time::Duration;

use async_graphql::resolver_utils::EnumType as _;
use async_graphql::{Enum, ErrorExtensionValues, Pos, Response, ServerError, Value};

use crate::app::charge::RateLimit;
use crate::app::error::{Broken, Error, Rejection};
use crate::budget::Exceeded;
use crate::graphql::document::lexer::LexError;

/// Maximum number of field errors in a response. If there are more, one further error states how many were omitted.
const MOST_FIELD_ERRORS: usize = 100;

/// The message of internal errors.
const BROKEN: &str = "Internal error. It has been logged.";

/// Delay before a retry if Redis or the archive is unavailable.
const UNAVAILABLE_FOR: Duration = Duration::from_secs(1);

/// The code of an error in `errors`, as its `extensions.code`. No field has this type: it is for clients that handle
/// errors.
#[derive(Clone, Copy, Debug, Enum, PartialEq, Eq)]
#[graphql(name = "ErrorCode")]
pub enum Code {
    /// The request is not a GraphQL request, or not acceptable with this method or media type.
    BadRequest,
    /// The document has a syntax error.
    #[graphql(name = "GRAPHQL_PARSE_FAILED")]
    ParseFailed,
    /// The document does not match the schema.
    #[graphql(name = "GRAPHQL_VALIDATION_FAILED")]
    ValidationFailed,
    /// The operation exceeds a limit, predicted or measured.
    #[graphql(name = "QUERY_TOO_COMPLEX")]
    TooComplex,
    /// A variable, id, cursor or argument has an invalid value.
    BadUserInput,
    /// The token is missing, malformed, unknown or expired.
    Unauthenticated,
    /// Only moderators may do this; or pages of this origin may not use the API, the host name is not accepted, or the
    /// document is not trusted.
    Forbidden,
    /// No document has this hash. Send the document with its hash, unless the server accepts only trusted documents.
    PersistedQueryNotFound,
    /// Persisted queries are off. Send documents in full.
    PersistedQueryNotSupported,
    /// Not enough tokens are left in the client's bucket. Retry after `extensions.retryAfterSeconds`.
    RateLimited,
    /// Too many events, too much time or an unknown removal since this cursor. Refetch, then resubscribe.
    ResyncRequired,
    /// The operation took too long. A mutation still runs to completion.
    Timeout,
    /// Redis or the archive is unavailable, or the server is too busy. Retry after `extensions.retryAfterSeconds`.
    Unavailable,
    /// A fault in the server, which has been logged. Report it with `extensions.requestId`.
    #[graphql(name = "INTERNAL_SERVER_ERROR")]
    Internal,
}

impl Code {
    /// Returns true for a server error: a fault in this process or in a service that it depends on.
    #[must_use]
    pub fn is_ours(self) -> bool {
        matches!(self, Self::Timeout | Self::Unavailable | Self::Internal)
    }

    /// Returns the code as clients see it.
    #[must_use]
    pub fn as_str(self) -> &'static str {
        // The items are in the order of the variants.
        Self::items()[self as usize].name
    }
}

/// The errors of a request that failed as a whole, usually before execution.
#[derive(Clone, Debug)]
pub struct RequestError {
    /// The code that all errors of the request share.
    pub code: Code,
    /// The errors, as clients see them.
    pub errors: Vec<ServerError>,
    /// The delay after which a retry may succeed, if any.
    pub retry_after: Option<Duration>,
}

/// The outcome of a request whose document was parsed.
#[derive(Debug)]
pub enum GraphqlResponse {
    /// The request failed as a whole, usually before execution.
    Rejected(RequestError),
    /// The request was executed. Errors belong to individual fields.
    Executed {
        /// The response data; null if a non-null field failed.
        data: Value,
        /// The field errors, as clients see them.
        errors: Vec<ServerError>,
        /// The code of the first error; `None` if there are no errors.
        fault: Option<Code>,
        /// The delay after which to retry, if a field failed because the server is busy.
        retry_after: Option<Duration>,
        /// Maximum size of the serialized response, in bytes.
        limit: u64,
    },
}

impl GraphqlResponse {
    /// Returns true if the response has no data.
    pub(super) fn has_no_data(&self) -> bool {
        match self {
            Self::Rejected(_) => true,
            Self::Executed { data, .. } => *data == Value::Null,
        }
    }

    /// Returns the code of the first error; `None` if there are no errors.
    #[must_use]
    pub fn code(&self) -> Option<Code> {
        match self {
            Self::Rejected(error) => Some(error.code),
            Self::Executed { fault, .. } => *fault,
        }
    }
}

impl RequestError {
    /// Creates a request error with this code and message.
    #[must_use]
    pub fn new(code: Code, message: impl Into<String>) -> Self {
        Self::from(Shown { code, message: message.into(), request_id: None, retry_after: None })
    }

    /// Returns the error with this location in the document, unless it has one.
    pub(super) fn at(mut self, position: Pos) -> Self {
        for error in self.errors.iter_mut().filter(|error| error.locations.is_empty()) {
            error.locations.push(position);
        }
        self
    }

    /// Creates an error with a delay after which a retry may succeed.
    #[must_use]
    pub fn retry_after(code: Code, message: impl Into<String>, delay: Duration) -> Self {
        Self::from(Shown { code, message: message.into(), request_id: None, retry_after: Some(delay) })
    }

    /// Creates the error for an unknown document hash. Clients depend on its exact message.
    #[must_use]
    pub fn not_found() -> Self {
        Self::new(Code::PersistedQueryNotFound, "PersistedQueryNotFound")
    }

    /// Creates the error for an operation that exceeds a complexity limit.
    pub(super) fn too_complex(what: &str) -> Self {
        Self::new(Code::TooComplex, format!("The document is too complex: {what}."))
    }

    /// Creates the error for an operation that exceeds its budget during execution.
    #[must_use]
    pub fn over_budget(exceeded: &Exceeded) -> Self {
        Self::new(Code::TooComplex, over_budget(exceeded))
    }

    /// Creates the error for an operation that costs more tokens than are left. Enough tokens will be available after
    /// `wait`.
    pub(super) fn rate_limited(RateLimit { cost, remaining, limit, .. }: RateLimit, wait: Duration) -> Self {
        let seconds = whole_seconds(wait);
        let message = format!(
            "This operation costs {cost}, and {remaining} of {limit} are left. Try again in {seconds} second{}.",
            if seconds == 1 { "" } else { "s" }
        );
        Self::retry_after(Code::RateLimited, message, wait)
    }

    /// Creates the error for a document rejected before parsing.
    pub(super) fn violation(violation: LexError) -> Self {
        let code = match violation {
            LexError::Excess { .. } => Code::TooComplex,
            LexError::OpenString => Code::ParseFailed,
        };
        Self::new(code, violation.to_string())
    }

    /// Creates an internal error. Its cause appears only in the log.
    #[must_use]
    pub fn internal(request_id: &str) -> Self {
        let message = BROKEN.to_owned();
        Self::from(Shown { code: Code::Internal, message, request_id: Some(request_id), retry_after: None })
    }

    /// Creates a request error from an application error that prevents the whole request from being executed.
    #[must_use]
    pub fn of(error: &Error, request_id: &str) -> Self {
        if let Error::Broken(broken) = error {
            log(broken, request_id);
        }
        Self::from(show(error, request_id))
    }
}

impl From<Shown<'_>> for RequestError {
    fn from(shown: Shown<'_>) -> Self {
        let (code, retry_after) = (shown.code, shown.retry_after);
        Self { code, errors: vec![shown.into_error(ServerError::new("", None))], retry_after }
    }
}

fn over_budget(exceeded: &Exceeded) -> String {
    format!("The operation is too complex: {exceeded}. Request smaller pages, or fewer pages at once.")
}

/// Returns the response to an operation that exceeded its budget.
pub(super) fn over(exceeded: &Exceeded, limit: u64) -> GraphqlResponse {
    let RequestError { code, errors, .. } = RequestError::over_budget(exceeded);
    GraphqlResponse::Executed { data: Value::Null, errors, fault: Some(code), retry_after: None, limit }
}

/// Assigns a code to every error in a response. `limit` is the maximum size of the serialized response, in bytes.
pub(super) fn finish(response: Response, request_id: &str, limit: u64) -> GraphqlResponse {
    let Response { data, errors, .. } = response;
    let mut retry_after = None;
    let mut logged = HashSet::new();
    let mut code = Code::Internal;
    let mut fault = None;
    let errors = without_repeats(errors);
    let left_out = errors.len().saturating_sub(MOST_FIELD_ERRORS);
    let shown = errors.into_iter().take(MOST_FIELD_ERRORS).map(|error| {
        let Some(cause) = error.source::<Error>() else {
            // The library itself rejected an argument.
            code = Code::BadUserInput;
            fault.get_or_insert(code);
            return coded(error, code);
        };
        if let Error::Broken(broken) = cause
            && logged.insert(format!("{broken:?}"))
        {
            log(broken, request_id);
        }
        let shown = show(cause, request_id);
        code = shown.code;
        fault.get_or_insert(code);
        if let Error::Rejected(Rejection::Busy { .. }) = cause {
            retry_after = retry_after.max(shown.retry_after);
        }
        shown.into_error(error)
    });
    let mut errors: Vec<ServerError> = shown.collect();
    if left_out > 0 {
        let message = format!("{left_out} further errors were omitted.");
        errors.push(coded(ServerError::new(message, None), code));
    }
    GraphqlResponse::Executed { data, errors, fault, retry_after, limit }
}

/// Removes the second error of a field. A list whose fields could not be loaded together has them resolved one by one,
/// and some may have failed before (`graphql::preloaded`).
fn without_repeats(mut errors: Vec<ServerError>) -> Vec<ServerError> {
    let mut paths = HashSet::new();
    errors.retain(|error| error.path.is_empty() || paths.insert(format!("{:?}", error.path)));
    errors
}

/// An error in the form sent to clients.
struct Shown<'a> {
    code: Code,
    message: String,
    /// The request's id, set for errors whose cause appears only in the log.
    request_id: Option<&'a str>,
    /// The delay after which a retry may succeed, if any.
    retry_after: Option<Duration>,
}

impl Shown<'_> {
    /// Gives this message and these extensions to an error, which keeps its path and its place in the document.
    fn into_error(self, error: ServerError) -> ServerError {
        let mut error = coded(ServerError { message: self.message, source: None, ..error }, self.code);
        let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
        if let Some(delay) = self.retry_after {
            extensions.set("retryAfterSeconds", whole_seconds(delay));
        }
        if let Some(request_id) = self.request_id {
            extensions.set("requestId", request_id);
        }
        error
    }
}

/// Returns a delay in seconds, rounded up and at least 1.
#[must_use]
pub fn whole_seconds(delay: Duration) -> u64 {
    u64::try_from(delay.as_millis().div_ceil(1_000)).unwrap_or(u64::MAX).max(1)
}

/// Logs a server error, whose cause is not sent to the client.
fn log(broken: &Broken, request_id: &str) {
    tracing::error!(request_id, error = broken as &dyn std::error::Error, "a request failed");
}

/// Maps an error to its code and message. No other function does so.
fn show<'a>(error: &Error, request_id: &'a str) -> Shown<'a> {
    let plain = |code, message: &str| Shown {
        code,
        message: message.to_owned(),
        request_id: None,
        retry_after: None,
    };
    match error {
        Error::Invalid(message) => plain(Code::BadUserInput, message),
        Error::Rejected(Rejection::Unauthenticated) => plain(Code::Unauthenticated, "Sign in first."),
        Error::Rejected(Rejection::Forbidden) => plain(Code::Forbidden, "Only moderators may do this."),
        Error::Rejected(Rejection::BadToken) => {
            plain(Code::Unauthenticated, "The token is invalid, or its session has ended. Sign in again.")
        }
        Error::Rejected(Rejection::BadJwt(fault)) => plain(Code::Unauthenticated, &fault.to_string()),
        Error::Rejected(Rejection::Busy { retry_after }) => {
            let busy = plain(Code::Unavailable, "The server is busy. Try again in a moment.");
            Shown { retry_after: Some(*retry_after), ..busy }
        }
        Error::Rejected(Rejection::Resync) => {
            let message =
                "The events since this cursor cannot be sent one by one: refetch, then resubscribe.";
            plain(Code::ResyncRequired, message)
        }
        Error::Rejected(Rejection::OverBudget(exceeded)) => plain(Code::TooComplex, &over_budget(exceeded)),
        // Only mutations violate rules, and they report the violations in their payloads. This arm is a fallback.
        Error::Rejected(Rejection::Rules(violations)) => {
            let messages: Vec<&str> = violations.iter().map(|violation| violation.message.as_str()).collect();
            plain(Code::BadUserInput, &messages.join(" "))
        }
        Error::Broken(broken) => {
            let shown = match broken {
                Broken::Unreachable(_) | Broken::ArchiveAway(_) | Broken::Late => {
                    let message = "The data is temporarily unavailable. Try again in a moment.";
                    Shown { retry_after: Some(UNAVAILABLE_FOR), ..plain(Code::Unavailable, message) }
                }
                Broken::Store(_)
                | Broken::Archive(_)
                | Broken::ForeignArchive(_)
                | Broken::NoRecord(_)
                | Broken::Hashing(_)
                | Broken::GaveUp(_) => plain(Code::Internal, BROKEN),
            };
            Shown { request_id: Some(request_id), ..shown }
        }
    }
}

/// Assigns a code to an error.
pub(super) fn coded(mut error: ServerError, code: Code) -> ServerError {
    error.extensions.get_or_insert_with(ErrorExtensionValues::default).set("code", code.as_str());
    error
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_code_is_written_as_the_schema_names_it() {
        for item in Code::items() {
            assert_eq!(item.value.as_str(), item.name);
        }
        assert_eq!(Code::ParseFailed.as_str(), "GRAPHQL_PARSE_FAILED");
    }

    #[test]
    fn a_delay_is_rounded_up() {
        for (millis, seconds) in [(0, 1), (1, 1), (1_000, 1), (1_001, 2), (60_000, 60)] {
            assert_eq!(whole_seconds(Duration::from_millis(millis)), seconds);
        }
    }
}
