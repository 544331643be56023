//! Creates and completes the spans of requests.
//!
//! # Whose traces are joined
//! A request of a trusted proxy joins the trace in its `traceparent` header, with the proxy's decision on whether the
//! trace is sampled. From any other client, that decision would let everyone have all their requests traced. Such a
//! request begins a trace of its own, which is linked to the client's: this is what OpenTelemetry's instrumentations do
//! at a public endpoint, and what W3C Trace Context calls to restart a trace.
//!
//! Not here: the collector that receives traces, and the option that enables them (`cli`).

use axum::extract::Request;
use axum::http::Method;
use opentelemetry::Context;
use opentelemetry::propagation::TextMapPropagator as _;
use opentelemetry::trace::{SpanContext, TraceContextExt as _, TraceState};
use opentelemetry_http::HeaderExtractor;
use opentelemetry_sdk::propagation::TraceContextPropagator;
use tracing::Span;
use tracing::field::Empty;
use tracing_opentelemetry::OpenTelemetrySpanExt as _;

use crate::config::HttpConfig;
use crate::graphql::Summary;
use crate::graphql::error::Code;
use crate::http::address;
use crate::http::request::RequestId;

/// The route of GraphQL requests.
pub(super) const GRAPHQL: &str = "/graphql";

/// Creates the span that adds the request id to the request's log lines.
pub(super) fn name(id: &RequestId) -> Span {
    // The highest level, so that the span is enabled at every log level.
    tracing::error_span!("request", id = id.as_str())
}

/// The span in which a client sent a request.
pub(super) struct Remote {
    /// The span; invalid if the client names none.
    span: SpanContext,
    /// True if the request joins the span's trace.
    is_trusted: bool,
}

impl Remote {
    /// Reads the span from the request's `traceparent` header. Keeps nothing else of the head.
    pub(super) fn of(request: &Request, config: &HttpConfig) -> Self {
        if !request.headers().contains_key("traceparent") {
            return Self { span: SpanContext::NONE, is_trusted: false };
        }
        let extractor = HeaderExtractor(request.headers());
        let context = TraceContextPropagator::new().extract_with_context(&Context::new(), &extractor);
        let span = context.span().span_context().clone();
        let is_of_proxy = address::is_of_proxy(request.extensions(), &config.http_trusted_proxies);
        let is_trusted = is_of_proxy && span.is_valid();
        let state = if is_trusted { span.trace_state().clone() } else { TraceState::NONE };
        let span = SpanContext::new(span.trace_id(), span.span_id(), span.trace_flags(), true, state);
        Self { span, is_trusted }
    }
}

/// Starts a request's trace span, which joins the client's trace or is linked to it.
pub(super) fn begin(route: &'static str, method: &Method, from: &Remote, id: &RequestId) -> Span {
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
        if from.is_trusted {
            // An error means that traces are disabled. It is harmless.
            drop(span.set_parent(Context::new().with_remote_span_context(from.span.clone())));
        } else {
            // Links to invalid spans are left out.
            span.add_link(from.span.clone());
        }
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
