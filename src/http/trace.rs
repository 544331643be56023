//! A request as traces tell of it.
//!
//! Not here: where traces go, and whether there are any (`cli`).

use axum::http::{HeaderMap, Method};
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::graphql::Summary;
use crate::graphql::error::Code;
use crate::http::request::RequestId;

/// What is logged on behalf of a request carries its name.
pub(super) fn name(id: &RequestId) -> Span {
    // Of the highest level, so that it is there whatever is logged.
    tracing::error_span!("request", id = id.as_str())
}

/// The span of a request. It belongs to the trace that the request comes with, if it does (`traceparent`).
pub(super) fn begin(method: &Method, headers: &HeaderMap, id: &RequestId) -> Span {
    let span = tracing::trace_span!(
        "request",
        "otel.name" = Empty,
        "otel.kind" = "server",
        "otel.status_code" = Empty,
        "http.request.method" = method.as_str(),
        "http.route" = "/graphql",
        "http.response.status_code" = Empty,
        "graphql.operation.type" = Empty,
        "graphql.operation.name" = Empty,
        "error.type" = Empty,
        "fanfold.request.id" = id.as_str(),
    );
    if !span.is_disabled() {
        span.record("otel.name", format!("{method} /graphql"));
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // If there is nobody to make traces, there is nobody to whom it matters.
        drop(span.set_parent(parent));
    }
    span
}

/// The span of the request that is being answered is told what became of it.
pub(super) fn end(operation: Option<&Summary>, fault: Option<Code>, status: u16) {
    let span = Span::current();
    if let Some(operation) = operation {
        span.record("graphql.operation.type", operation.kind);
        span.record("graphql.operation.name", operation.name());
    }
    span.record("http.response.status_code", status);
    if let Some(fault) = fault {
        span.record("error.type", fault.as_str());
        if fault.is_ours() {
            span.record("otel.status_code", "ERROR");
        }
    }
}
