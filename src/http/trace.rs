//! Creates and completes the spans of requests.
//!
//! Not here: the collector that receives traces, and the option that enables them (`cli`).

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

/// The route of GraphQL requests.
pub(super) const GRAPHQL: &str = "/graphql";

/// Creates the span that adds the request id to the request's log lines.
pub(super) fn name(id: &RequestId) -> Span {
    // The highest level, so that the span is enabled at every log level.
    tracing::error_span!("request", id = id.as_str())
}

/// Starts a request's trace span. The span joins the trace in the request's `traceparent` header, if there is one.
pub(super) fn begin(route: &'static str, method: &Method, headers: &HeaderMap, id: &RequestId) -> Span {
    let span = tracing::trace_span!(
        "request",
        "otel.name" = Empty,
        "otel.kind" = "server",
        "otel.status_code" = Empty,
        "http.request.method" = method.as_str(),
        "http.route" = route,
        "http.response.status_code" = Empty,
        "graphql.operation.type" = Empty,
        "graphql.operation.name" = Empty,
        "error.type" = Empty,
        "fanfold.request.id" = id.as_str(),
    );
    if !span.is_disabled() {
        span.record("otel.name", format!("{method} {route}"));
        let parent = TraceContextPropagator::new().extract(&HeaderExtractor(headers));
        // An error means that traces are disabled. It is harmless.
        drop(span.set_parent(parent));
    }
    span
}

/// Records a request's outcome in the current span.
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
