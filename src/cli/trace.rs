//! Sends traces to an OpenTelemetry collector. A trace shows what a request waited for.
//!
//! Traces consist of the `tracing` spans at level `TRACE`, which logs omit by default: a request, its phases, every
//! round trip to Redis and every query to the archive. Without a collector, these spans are disabled. Not here: the
//! fields of spans, which are set where each span is created.

use std::error::Error;
use std::sync::Arc;
use std::time::Duration;

use async_trait::async_trait;
use hyper_rustls::HttpsConnectorBuilder;
use opentelemetry::trace::TracerProvider as _;
use opentelemetry_http::hyper::HyperClient;
use opentelemetry_http::{Bytes, HttpClient, HttpError, Request, Response};
use opentelemetry_otlp::{SpanExporter, WithExportConfig as _, WithHttpConfig as _};
use opentelemetry_sdk::Resource;
use opentelemetry_sdk::trace::{SdkTracerProvider, Tracer};
use tokio::runtime::Handle;
use tracing::Level;
use tracing::level_filters::LevelFilter;
use tracing_opentelemetry::OpenTelemetryLayer;
use tracing_subscriber::Layer;
use tracing_subscriber::filter::DynFilterFn;
use tracing_subscriber::registry::LookupSpan;

/// Timeout of a request to the collector.
const EXPORT_TIMEOUT: Duration = Duration::from_secs(10);
/// Service name, unless the environment sets `OTEL_SERVICE_NAME`.
const SERVICE: &str = "fanfold";

/// An exporter of traces.
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Starts sending traces to the collector at `endpoint`. OpenTelemetry's environment variables configure sampling
    /// and the description of the service.
    pub(super) fn begin(endpoint: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let client = OnRuntime { client: client(endpoint)?, runtime: Handle::current() };
        let exporter = SpanExporter::builder().with_http().with_http_client(client);
        let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = exporter.with_endpoint(endpoint).with_timeout(EXPORT_TIMEOUT).build()?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(SERVICE);
        }
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
        Ok(Self(provider.with_resource(resource.build()).build()))
    }

    /// Returns the layer that turns spans into traces.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let layer: OpenTelemetryLayer<S, Tracer> =
            tracing_opentelemetry::layer().with_tracer(self.0.tracer(SERVICE));
        let layer = layer.with_location(false).with_threads(false).with_level(false).with_target(false);
        // Background work belongs to no request, so each of its round trips would become a trace of its own.
        let is_wanted = DynFilterFn::new(|metadata, context| {
            let is_ours = metadata.is_span()
                && *metadata.level() == Level::TRACE
                && metadata.target().starts_with(env!("CARGO_CRATE_NAME"));
            is_ours && (metadata.name() == "request" || context.lookup_current().is_some())
        });
        layer.with_tracked_inactivity(false).with_filter(is_wanted.with_max_level_hint(LevelFilter::TRACE))
    }

    /// Sends the remaining traces, waiting up to a timeout.
    pub(super) async fn finish(self, timeout: Duration) {
        // The shutdown blocks until the exporter's thread, which needs this runtime, has finished.
        let sent = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(timeout)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::warn!("the last traces could not be sent");
        }
    }
}

/// Returns an HTTP client for the collector. Loads the system's certificates only for HTTPS.
fn client(endpoint: &str) -> Result<Arc<dyn HttpClient>, Box<dyn Error + Send + Sync>> {
    if endpoint.starts_with("http:") {
        return Ok(Arc::new(HyperClient::with_default_connector(EXPORT_TIMEOUT, None)));
    }
    let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build();
    Ok(Arc::new(HyperClient::new(connector, EXPORT_TIMEOUT, None)))
}

/// An HTTP client that runs requests on the process's runtime, for threads outside the runtime.
#[derive(Debug)]
struct OnRuntime {
    client: Arc<dyn HttpClient>,
    runtime: Handle,
}

#[async_trait]
impl HttpClient for OnRuntime {
    async fn send_bytes(&self, request: Request<Bytes>) -> Result<Response<Bytes>, HttpError> {
        let client = Arc::clone(&self.client);
        let sent = self.runtime.spawn(async move { client.send_bytes(request).await }).await;
        let sent = sent.map_err(HttpError::from).flatten();
        match &sent {
            Ok(answer) if answer.status().is_success() => {}
            Ok(answer) => tracing::warn!(status = answer.status().as_u16(), "the collector rejected traces"),
            Err(error) => tracing::warn!(error = &**error as &dyn Error, "traces cannot be sent"),
        }
        sent
    }
}
