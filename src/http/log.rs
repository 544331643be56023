//! What is told of a request when it has been answered: a line in the log, and the figures.
//!
//! The line is for whoever wants it (`--log-requests`). It has no text of a document, no value of a variable, and
//! nothing that signs anybody in.

use axum::body::HttpBody as _;
use axum::http::{Method, StatusCode};
use axum::response::Response;
use tokio::time::Instant;

use crate::app::rate_limit::RateLimit;
use crate::app::viewer::Asker;
use crate::graphql::Summary;
use crate::graphql::error::{Code, GraphqlResponse};
use crate::http::metrics::count;
use crate::http::trace;
use crate::model::id::UserId;

/// Most characters of a name that a client has thought of.
const LONGEST_NAME: usize = 100;

/// What is known of a request, from when its head was read.
pub(super) struct Account {
    method: Method,
    /// By the clock of the runtime: it is told, and nothing depends on it.
    pub(super) began: Instant,
    /// What it asked for, as far as that was understood.
    pub(super) operation: Option<Summary>,
    /// Who asked, as far as that was found out.
    pub(super) viewer: Option<UserId>,
    /// What it may still ask for, if that is limited.
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

    /// It is known who asks.
    pub(super) fn admit(&mut self, asker: &Asker) {
        self.viewer = asker.viewer.user();
        self.rate_limit = asker.rate_limit;
    }

    /// The request is answered, with this code unless all went well.
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

/// Counts one of several operations of a request that began then; it is done.
pub(super) fn count_one(began: Instant, operation: Option<&Summary>, answer: &GraphqlResponse) {
    count(kind(operation), code(answer.code()), began.elapsed());
}

/// What is told of an operation that has come over a socket, when it has ended, in whatever way.
pub(super) struct Told {
    /// By the clock of the runtime: it is told, and nothing depends on it.
    began: Instant,
    operation: Summary,
    /// Who asked, as far as that was found out.
    pub(super) viewer: Option<UserId>,
    pub(super) outcome: Outcome,
}

/// How an operation has ended.
#[derive(Clone, Copy)]
pub(super) enum Outcome {
    /// Not by itself. Who watches mostly says itself that it is enough.
    Cancelled,
    /// With the code of what went wrong first; `None` if nothing did.
    Done(Option<Code>),
}

impl Told {
    pub(super) fn begin(operation: Summary) -> Self {
        Self { began: Instant::now(), operation, viewer: None, outcome: Outcome::Cancelled }
    }
}

impl Drop for Told {
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

/// Names are of plain letters.
fn shorten(name: &str) -> &str {
    &name[..name.len().min(LONGEST_NAME)]
}

fn kind(operation: Option<&Summary>) -> &'static str {
    operation.map_or("none", |operation| operation.kind)
}

fn code(fault: Option<Code>) -> &'static str {
    fault.map_or("ok", Code::as_str)
}
