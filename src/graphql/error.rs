//! Errors as API clients see them: the only mapping from error kinds to codes.
//!
//! Not here: HTTP status codes (`http::response`).

use std::time::Duration;

use async_graphql::{ErrorExtensionValues, Response, ServerError, Value};

use crate::app::charge::RateLimit;
use crate::app::error::{Broken, Error, Rejection};
use crate::budget::Exceeded;
use crate::graphql::document::lexer::LexError;

/// Maximum number of field errors in a response. If there are more, one further error states how many were omitted.
const MOST_FIELD_ERRORS: usize = 100;

/// The message of internal errors.
const BROKEN: &str = "Internal error. It has been logged.";

/// An error code, sent to clients in `extensions.code`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[expect(missing_docs, reason = "each is named after its code")]
pub enum Code {
    BadRequest,
    ParseFailed,
    ValidationFailed,
    TooComplex,
    BadUserInput,
    Unauthenticated,
    Forbidden,
    PersistedQueryNotFound,
    PersistedQueryNotSupported,
    RateLimited,
    ResyncRequired,
    Timeout,
    Unavailable,
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
        match self {
            Self::BadRequest => "BAD_REQUEST",
            Self::ParseFailed => "GRAPHQL_PARSE_FAILED",
            Self::ValidationFailed => "GRAPHQL_VALIDATION_FAILED",
            Self::TooComplex => "QUERY_TOO_COMPLEX",
            Self::BadUserInput => "BAD_USER_INPUT",
            Self::Unauthenticated => "UNAUTHENTICATED",
            Self::Forbidden => "FORBIDDEN",
            Self::PersistedQueryNotFound => "PERSISTED_QUERY_NOT_FOUND",
            Self::PersistedQueryNotSupported => "PERSISTED_QUERY_NOT_SUPPORTED",
            Self::RateLimited => "RATE_LIMITED",
            Self::ResyncRequired => "RESYNC_REQUIRED",
            Self::Timeout => "TIMEOUT",
            Self::Unavailable => "UNAVAILABLE",
            Self::Internal => "INTERNAL_SERVER_ERROR",
        }
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
        Self { code, errors: vec![coded(ServerError::new(message, None), code)], retry_after: None }
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
        let seconds = wait.as_millis().div_ceil(1_000);
        let message = format!(
            "This operation costs {cost}, and {remaining} of {limit} are left. Try again in {seconds} second{}.",
            if seconds == 1 { "" } else { "s" }
        );
        Self { retry_after: Some(wait), ..Self::new(Code::RateLimited, message) }
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
        let error = ServerError::new(BROKEN, None);
        let errors = vec![extended(error, Code::Internal, Some(request_id))];
        Self { code: Code::Internal, errors, retry_after: None }
    }

    /// Creates a request error from an application error that prevents the whole request from being executed.
    #[must_use]
    pub fn of(error: &Error, request_id: &str) -> Self {
        let shown = show(error, request_id);
        let error = extended(ServerError::new(shown.message, None), shown.code, shown.request_id);
        Self { code: shown.code, errors: vec![error], retry_after: shown.retry_after }
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
    let mut code = Code::Internal;
    let mut fault = None;
    let left_out = errors.len().saturating_sub(MOST_FIELD_ERRORS);
    let shown = errors.into_iter().take(MOST_FIELD_ERRORS).map(|error| {
        let Some(cause) = error.source::<Error>() else {
            // The library itself rejected an argument.
            code = Code::BadUserInput;
            fault.get_or_insert(code);
            return coded(error, code);
        };
        let shown = show(cause, request_id);
        code = shown.code;
        fault.get_or_insert(code);
        retry_after = retry_after.max(shown.retry_after);
        extended(ServerError { message: shown.message, source: None, ..error }, shown.code, shown.request_id)
    });
    let mut errors: Vec<ServerError> = shown.collect();
    if left_out > 0 {
        let message = format!("{left_out} further errors were omitted.");
        errors.push(coded(ServerError::new(message, None), code));
    }
    GraphqlResponse::Executed { data, errors, fault, retry_after, limit }
}

/// An error in the form sent to clients.
struct Shown<'a> {
    code: Code,
    message: String,
    /// The request's id, set for errors whose cause appears only in the log.
    request_id: Option<&'a str>,
    retry_after: Option<Duration>,
}

/// Maps an error to its code and message. No other function does so. Logs the cause of a server error once and does not
/// send the cause to the client.
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
        Error::Rejected(Rejection::BadToken) => {
            plain(Code::Unauthenticated, "The token is invalid, or its session has ended. Sign in again.")
        }
        Error::Rejected(Rejection::Busy { retry_after }) => {
            let busy = plain(Code::Unavailable, "The server is busy. Try again in a moment.");
            Shown { retry_after: Some(*retry_after), ..busy }
        }
        Error::Rejected(Rejection::Resync) => {
            let message = "Too many events since this cursor: refetch, then resubscribe.";
            plain(Code::ResyncRequired, message)
        }
        Error::Rejected(Rejection::OverBudget(exceeded)) => plain(Code::TooComplex, &over_budget(exceeded)),
        // Only mutations violate rules, and they report the violations in their payloads. This arm is a fallback.
        Error::Rejected(Rejection::Rules(violations)) => {
            let messages: Vec<&str> = violations.iter().map(|violation| violation.message.as_str()).collect();
            plain(Code::BadUserInput, &messages.join(" "))
        }
        Error::Broken(broken) => {
            tracing::error!(request_id, error = broken as &dyn std::error::Error, "a request failed");
            let (code, message) = match broken {
                Broken::Unreachable(_) | Broken::ArchiveAway(_) | Broken::Late => {
                    (Code::Unavailable, "The data is temporarily unavailable. Try again in a moment.")
                }
                Broken::Store(_)
                | Broken::Archive(_)
                | Broken::ForeignArchive(_)
                | Broken::NoRecord(_)
                | Broken::Hashing(_)
                | Broken::GaveUp(_) => (Code::Internal, "Internal error. It has been logged."),
            };
            Shown { request_id: Some(request_id), ..plain(code, message) }
        }
    }
}

pub(super) fn coded(error: ServerError, code: Code) -> ServerError {
    extended(error, code, None)
}

fn extended(mut error: ServerError, code: Code, request_id: Option<&str>) -> ServerError {
    let extensions = error.extensions.get_or_insert_with(ErrorExtensionValues::default);
    extensions.set("code", code.as_str());
    if let Some(request_id) = request_id {
        extensions.set("requestId", request_id);
    }
    error
}
