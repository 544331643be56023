//! The record of a completed request: a log line, and metrics.
//!
//! The line is optional (`--log-requests`). It contains no text of a document, no value of a variable, and no
//! credentials.

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

/// Maximum logged length of an operation name.
const LONGEST_NAME: usize = 100;

/// The record of a request, collected since its head was read.
pub(super) struct Account {
    method: Method,
    /// By the clock of the runtime: it is only reported, nothing depends on it.
    pub(super) began: Instant,
    /// The operation, once known.
    pub(super) operation: Option<Summary>,
    /// The viewer, once known.
    pub(super) viewer: Option<UserId>,
    /// The rate limit, if there is one.
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

    /// Records the admitted caller.
    pub(super) fn admit(&mut self, caller: &Caller) {
        self.viewer = caller.viewer.user();
        self.rate_limit = caller.rate_limit;
    }

    /// Completes the record, with the code of the first error.
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

/// Counts one operation of a batch that began at `began`.
pub(super) fn count_one(began: Instant, operation: Option<&Summary>, answer: &GraphqlResponse) {
    count(kind(operation), code(answer.code()), began.elapsed());
}

/// The record of an operation over a socket, completed however the operation ends.
pub(super) struct OperationLog {
    /// By the clock of the runtime: it is only reported, nothing depends on it.
    began: Instant,
    operation: Summary,
    /// The viewer, once known.
    pub(super) viewer: Option<UserId>,
    pub(super) outcome: Outcome,
}

/// The end of an operation.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// Cancelled: the normal end of a subscription.
    Cancelled,
    /// Completed, with the code of the first error; `None` if there is none.
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

/// Truncates a name. Names are ASCII.
fn shorten(name: &str) -> &str {
    &name[..name.len().min(LONGEST_NAME)]
}

fn kind(operation: Option<&Summary>) -> &'static str {
    operation.map_or("none", |operation| operation.kind)
}

fn code(fault: Option<Code>) -> &'static str {
    fault.map_or("ok", Code::as_str)
}
