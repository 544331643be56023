//! Writes responses: media types, status codes, headers and the JSON body.

use std::time::Duration;

use async_graphql::Value;
use axum::body::Body;
use axum::http::{HeaderMap, HeaderName, HeaderValue, StatusCode, header};
use axum::response::{IntoResponse as _, Response};
use tower_http::CompressionLevel;
use tower_http::compression::CompressionLayer;
use tower_http::compression::predicate::{NotForContentType, Predicate, SizeAbove};

use crate::app::charge::RateLimit;
use crate::config::HttpConfig;
use crate::graphql::error::{Code, GraphqlResponse, RequestError, whole_seconds};
use crate::http::accept::{EVENT_STREAM, MediaType};
use crate::http::{executed, list, print};
use crate::model::clock::Timestamp;

/// The rate limit headers: the bucket's capacity, this operation's cost, the tokens left, and the time at which the
/// bucket is full again, in seconds since 1970.
const RATE_LIMIT: [HeaderName; 4] = [
    HeaderName::from_static("x-ratelimit-limit"),
    HeaderName::from_static("x-ratelimit-cost"),
    HeaderName::from_static("x-ratelimit-remaining"),
    HeaderName::from_static("x-ratelimit-reset"),
];

/// Time after which a client may try to connect again.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(10);

/// A response, and the code of its first error. The code is `None` if the response has no error or is a stream.
pub(super) struct Reply {
    pub(super) response: Response,
    pub(super) fault: Option<Code>,
}

/// The error of a request that was not executed, with an HTTP status.
#[derive(Debug)]
pub(super) struct Failure {
    /// The status; `None` to derive it from the error code.
    status: Option<StatusCode>,
    error: RequestError,
}

impl Failure {
    /// Creates a failure with the status that its error code implies.
    pub(super) fn of(error: RequestError) -> Self {
        Self { status: None, error }
    }

    /// Creates a failure with an explicit status.
    pub(super) fn new(status: StatusCode, code: Code, message: impl Into<String>) -> Self {
        Self { status: Some(status), error: RequestError::new(code, message) }
    }

    /// Creates the failure for an unknown path.
    pub(super) fn not_found() -> Self {
        let message = "Not found. The API is at /graphql, its schema at /schema.graphql.";
        Self::new(StatusCode::NOT_FOUND, Code::BadRequest, message)
    }

    /// Creates the failure for a mutation sent by GET.
    pub(super) fn only_by_post() -> Self {
        let message = "Only queries may be sent by GET. Send this operation by POST.";
        Self::new(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, message)
    }

    /// Creates the failure for a subscription from a client that does not accept events.
    pub(super) fn only_as_events() -> Self {
        let message = "A subscription requires `Accept: text/event-stream`, or a WebSocket.";
        Self::new(StatusCode::NOT_ACCEPTABLE, Code::BadRequest, message)
    }

    /// Creates the failure for a request on a spare connection.
    pub(super) fn busy(status: StatusCode) -> Self {
        let message = "Too many connections. Try again later.";
        Self::of(RequestError::retry_after(Code::Unavailable, message, RETRY_AFTER)).with_status(status)
    }

    /// Creates the failure for a client that accepts none of the media types.
    pub(super) fn not_acceptable() -> Self {
        let message = "Responses are application/graphql-response+json, application/json or text/event-stream, \
                       in UTF-8.";
        Self::new(StatusCode::NOT_ACCEPTABLE, Code::BadRequest, message)
    }

    pub(super) fn code(&self) -> Code {
        self.error.code
    }

    /// Returns the error without the status, for responses that have a status of their own.
    pub(super) fn into_error(self) -> RequestError {
        self.error
    }

    /// Replaces the status.
    pub(super) fn with_status(self, status: StatusCode) -> Self {
        Self { status: Some(status), ..self }
    }

    pub(super) fn into_response(self, media_type: MediaType) -> Response {
        let status = self.status.unwrap_or_else(|| status(self.error.code, media_type));
        let response = Response::new(Body::from(print::rejected(&self.error)));
        let mut response = with_head(response, status, media_type, self.error.retry_after);
        let headers = response.headers_mut();
        match status {
            StatusCode::METHOD_NOT_ALLOWED => {
                headers.entry(header::ALLOW).or_insert(HeaderValue::from_static("POST"));
            }
            // WebSocket is the only supported upgrade, and 13 its only supported version.
            StatusCode::UPGRADE_REQUIRED => {
                headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
                headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
                headers.insert(header::SEC_WEBSOCKET_VERSION, HeaderValue::from_static("13"));
            }
            _ => {}
        }
        response
    }
}

/// Returns the HTTP status for the code of an error that prevented execution. No other function maps codes to statuses.
fn status(code: Code, media_type: MediaType) -> StatusCode {
    match code {
        Code::BadRequest => StatusCode::BAD_REQUEST,
        // Clients that use `application/json` interpret any other status as a transport error.
        Code::ParseFailed
        | Code::ValidationFailed
        | Code::TooComplex
        | Code::BadUserInput
        | Code::ResyncRequired
        | Code::PersistedQueryNotFound
        | Code::PersistedQueryNotSupported => match media_type {
            MediaType::Json => StatusCode::OK,
            MediaType::GraphqlResponse => StatusCode::BAD_REQUEST,
        },
        Code::Unauthenticated => StatusCode::UNAUTHORIZED,
        Code::Forbidden => StatusCode::FORBIDDEN,
        Code::RateLimited => StatusCode::TOO_MANY_REQUESTS,
        Code::Timeout | Code::Unavailable => StatusCode::SERVICE_UNAVAILABLE,
        Code::Internal => StatusCode::INTERNAL_SERVER_ERROR,
    }
}

/// Writes the response to a request whose document was parsed.
pub(super) fn respond(answer: GraphqlResponse, media_type: MediaType) -> Response {
    match answer {
        GraphqlResponse::Rejected(error) => Failure::of(error).into_response(media_type),
        GraphqlResponse::Executed { ref data, retry_after, .. } => {
            // A client that received some data should not retry the whole operation.
            let has_nothing = match data {
                Value::Object(fields) => fields.values().all(|value| *value == Value::Null),
                data => *data == Value::Null,
            };
            let is_busy = retry_after.is_some() && has_nothing;
            let status = if is_busy { StatusCode::SERVICE_UNAVAILABLE } else { StatusCode::OK };
            let response = Response::new(Body::from(print::between("", &answer, "")));
            with_head(response, status, media_type, retry_after)
        }
    }
}

/// Adds the rate limit headers to a response.
pub(super) fn add_rate_limit(response: &mut Response, rate_limit: RateLimit) {
    let RateLimit { limit, cost, remaining, reset_at, .. } = rate_limit;
    let since_epoch = reset_at.since(Timestamp::from_millis(0));
    let values = [limit.into(), cost.into(), remaining.into(), whole_seconds(since_epoch)];
    for (name, value) in RATE_LIMIT.into_iter().zip(values) {
        response.headers_mut().insert(name, value.into());
    }
}

/// Writes a response. Shared caches may store it if `--http-public-max-age` is set and there are no errors.
pub(super) fn respond_publicly(
    answer: GraphqlResponse,
    media_type: MediaType,
    config: &HttpConfig,
) -> Response {
    let seconds = config.http_public_max_age;
    let is_whole = matches!(&answer, GraphqlResponse::Executed { errors, .. } if errors.is_empty());
    let mut response = respond(answer, media_type);
    if seconds > 0 && is_whole {
        let headers = response.headers_mut();
        if let Ok(value) = HeaderValue::from_str(&format!("public, max-age={seconds}")) {
            headers.insert(header::CACHE_CONTROL, value);
        }
    }
    response
}

/// Writes the responses to a batch, in request order. The status is 200 even if some operations failed.
pub(super) fn respond_to_batch(answers: Vec<GraphqlResponse>, media_type: MediaType) -> Response {
    let retry_after = answers.iter().filter_map(|answer| match answer {
        GraphqlResponse::Rejected(RequestError { retry_after, .. })
        | GraphqlResponse::Executed { retry_after, .. } => *retry_after,
    });
    let retry_after = retry_after.max();
    let written = executed::batch(answers);
    let response = written.unwrap_or_else(|answers| Response::new(Body::from(print::batch(&answers))));
    with_head(response, StatusCode::OK, media_type, retry_after)
}

/// Responds to a request with a method that its path does not support.
pub(super) fn method_not_allowed() -> Response {
    let message = "This method is not allowed here. GraphQL requests are sent by POST to /graphql, queries also by \
                   GET.";
    let failure = Failure::new(StatusCode::METHOD_NOT_ALLOWED, Code::BadRequest, message);
    let mut response = failure.into_response(MediaType::Json);
    response.headers_mut().insert(header::ALLOW, HeaderValue::from_static("GET, HEAD, POST, OPTIONS"));
    response
}

/// Returns the layer that compresses responses of at least 1 KiB, except event streams, for clients that accept
/// compression.
pub(super) fn compression() -> CompressionLayer<impl Predicate> {
    const LEAST_BYTES: u16 = 1_024;
    // Compression would delay events.
    let is_worth_it = SizeAbove::new(LEAST_BYTES).and(NotForContentType::const_new(EVENT_STREAM));
    CompressionLayer::new().quality(CompressionLevel::Fastest).compress_when(is_worth_it)
}

/// Creates a response with a content type.
pub(super) fn text(content_type: &'static str, text: impl Into<Body>) -> Response {
    let mut response = Response::new(text.into());
    response.headers_mut().insert(header::CONTENT_TYPE, HeaderValue::from_static(content_type));
    response
}

/// Returns a 304 response if the client has the content with this entity tag cached; otherwise `None`.
pub(super) fn not_modified(headers: &HeaderMap, tag: &str) -> Option<Response> {
    is_known(headers, tag).then(|| tagged(StatusCode::NOT_MODIFIED.into_response(), tag))
}

/// Adds an entity tag to a response. Any cache may store the response, but must revalidate it before each use.
pub(super) fn tagged(mut response: Response, tag: &str) -> Response {
    let headers = response.headers_mut();
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("public, no-cache"));
    if let Ok(tag) = HeaderValue::from_str(tag) {
        headers.insert(header::ETAG, tag);
    }
    response
}

fn is_known(headers: &HeaderMap, tag: &str) -> bool {
    let opaque = |tag: &str| tag.trim().trim_start_matches("W/").to_owned();
    let mut known = list::elements(headers, &header::IF_NONE_MATCH);
    known.any(|known| known == "*" || opaque(known) == opaque(tag))
}

/// Sets a response's status and content type, and its headers for authentication and retries.
fn with_head(
    mut response: Response,
    status: StatusCode,
    media_type: MediaType,
    retry_after: Option<Duration>,
) -> Response {
    *response.status_mut() = status;
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, media_type.header());
    if status == StatusCode::UNAUTHORIZED {
        headers.insert(header::WWW_AUTHENTICATE, HeaderValue::from_static("Bearer"));
    }
    if let Some(retry_after) = retry_after {
        headers.insert(header::RETRY_AFTER, whole_seconds(retry_after).into());
    }
    response
}
