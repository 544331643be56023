//! Records completed requests, as a log line and in metrics.
//!
//! The log line is optional (`--log-requests`). It contains no document text, variable values or credentials.

use axum::body::HttpBody as _;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use tokio::time::Instant;

use crate::app::charge::RateLimit;
use crate::app::viewer::Caller;
use crate::graphql::Summary;
use crate::graphql::error::{Code, GraphqlResponse};
use crate::http::metrics::count;
use crate::http::trace;
use crate::model::id::UserId;

/// Maximum logged length of an operation name, in bytes.
const LONGEST_NAME: usize = 100;

/// The log record of a request, created when the request head has been read and filled in during execution.
pub(super) struct Account {
    method: Method,
    /// The start time, by the runtime's clock. It is only reported: no behaviour depends on it.
    pub(super) began: Instant,
    /// The operation; `None` until it is known.
    pub(super) operation: Option<Summary>,
    /// The viewer; `None` until the caller is admitted, and for anonymous callers.
    pub(super) viewer: Option<UserId>,
    /// The state of the caller's token bucket; `None` without a rate limit.
    pub(super) rate_limit: Option<RateLimit>,
}

impl Account {
    pub(super) fn begin(method: &Method) -> Self {
        Self {
            method: method.clone(),
            began: Instant::now(),
            operation: None,
            viewer: None,
            rate_limit: None,
        }
    }

    /// Records the admitted caller's user and rate limit.
    pub(super) fn admit(&mut self, caller: &Caller) {
        self.viewer = caller.viewer.user();
        self.rate_limit = caller.rate_limit;
    }

    /// Completes the record. `fault` is the code of the first error.
    pub(super) fn close(&self, fault: Option<Code>, response: &Response) {
        let operation = self.operation.as_ref();
        let (kind, code, took) = (kind(operation), code(fault), self.began.elapsed());
        if kind != Summary::BATCH {
            count(kind, code, took);
        }
        let status = response.status().as_u16();
        trace::end(operation, fault, status);
        let name = operation.and_then(Summary::name);
        tracing::debug!(
            method = self.method.as_str(),
            operation = kind,
            name = name.map(shorten),
            code,
            cost = operation.map(|operation| operation.cost),
            viewer = print_viewer(self.viewer),
            status,
            bytes = response.body().size_hint().exact(),
            milliseconds = took.as_secs_f64() * 1_000.0,
            "answered"
        );
    }
}

/// Counts one operation of a batch whose request arrived at `began`.
pub(super) fn count_one(began: Instant, operation: Option<&Summary>, answer: &GraphqlResponse) {
    count(kind(operation), code(answer.code()), began.elapsed());
}

/// The log record of an operation over a WebSocket. It is completed on drop, so that an operation is logged however it
/// ends.
pub(super) struct OperationLog {
    /// The start time, by the runtime's clock. It is only reported: no behaviour depends on it.
    began: Instant,
    operation: Summary,
    /// The viewer; `None` until the caller is admitted, and for anonymous callers.
    pub(super) viewer: Option<UserId>,
    pub(super) outcome: Outcome,
}

/// The outcome of an operation.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// The client cancelled the operation: the normal end of a subscription.
    Cancelled,
    /// The operation completed, with the code of its first error; `None` if there were no errors.
    Done(Option<Code>),
}

impl OperationLog {
    pub(super) fn begin(operation: Summary) -> Self {
        Self { began: Instant::now(), operation, viewer: None, outcome: Outcome::Cancelled }
    }
}

impl Drop for OperationLog {
    fn drop(&mut self) {
        let Self { began, operation, viewer, outcome } = self;
        let (fault, code) = match *outcome {
            Outcome::Cancelled => (None, "cancelled"),
            Outcome::Done(fault) => (fault, code(fault)),
        };
        let took = began.elapsed();
        count(operation.kind, code, took);
        trace::end(Some(operation), fault, StatusCode::SWITCHING_PROTOCOLS.as_u16());
        tracing::debug!(
            method = "socket",
            operation = operation.kind,
            name = operation.name().map(shorten),
            code,
            cost = operation.cost,
            viewer = print_viewer(*viewer),
            milliseconds = took.as_secs_f64() * 1_000.0,
            "ended"
        );
    }
}

fn print_viewer(viewer: Option<UserId>) -> String {
    viewer.map_or_else(|| "anonymous".to_owned(), |viewer| viewer.to_string())
}

/// Truncates a name to the maximum length. GraphQL names are ASCII, so any byte is a character boundary.
fn shorten(name: &str) -> &str {
    &name[..name.len().min(LONGEST_NAME)]
}

fn kind(operation: Option<&Summary>) -> &'static str {
    operation.map_or("none", |operation| operation.kind)
}

fn code(fault: Option<Code>) -> &'static str {
    fault.map_or("ok", Code::as_str)
}
