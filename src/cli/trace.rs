//! Traces: what a request waited for, sent to a collector of OpenTelemetry.
//!
//! Spans are those of the library for logging, at the level of traces, which no log shows unless it is wished for: a
//! request, what it is made of, every round trip to Redis and every question to the archive. Nobody makes one where
//! there is no collector. Not here: what a span tells, which is written where it is made.

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

/// How long the collector may take.
const ANSWER: Duration = Duration::from_secs(10);
/// What the service is called, unless the environment says otherwise.
const SERVICE: &str = "fanfold";

/// Sends traces until it is finished.
pub(super) struct Traces(SdkTracerProvider);

impl Traces {
    /// Traces that go to the collector at this URL. How many of them, and what they say of the service, may be set by
    /// the variables of the environment that OpenTelemetry has for that.
    pub(super) fn begin(endpoint: &str) -> Result<Self, Box<dyn Error + Send + Sync>> {
        let client = OnRuntime { client: client(endpoint)?, runtime: Handle::current() };
        let exporter = SpanExporter::builder().with_http().with_http_client(client);
        let endpoint = format!("{}/v1/traces", endpoint.trim_end_matches('/'));
        let exporter = exporter.with_endpoint(endpoint).with_timeout(ANSWER).build()?;
        let mut resource = Resource::builder();
        if std::env::var_os("OTEL_SERVICE_NAME").is_none() {
            resource = resource.with_service_name(SERVICE);
        }
        let provider = SdkTracerProvider::builder().with_batch_exporter(exporter);
        Ok(Self(provider.with_resource(resource.build()).build()))
    }

    /// What makes traces of spans.
    pub(super) fn layer<S>(&self) -> impl Layer<S> + use<S>
    where
        S: tracing::Subscriber + for<'span> LookupSpan<'span>,
    {
        let layer: OpenTelemetryLayer<S, Tracer> =
            tracing_opentelemetry::layer().with_tracer(self.0.tracer(SERVICE));
        let layer = layer.with_location(false).with_threads(false).with_level(false).with_target(false);
        // What this process does of itself belongs to no request and would be a trace for each round trip.
        let is_wanted = DynFilterFn::new(|metadata, context| {
            let is_ours = metadata.is_span()
                && *metadata.level() == Level::TRACE
                && metadata.target().starts_with(env!("CARGO_CRATE_NAME"));
            is_ours && (metadata.name() == "request" || context.lookup_current().is_some())
        });
        layer.with_tracked_inactivity(false).with_filter(is_wanted.with_max_level_hint(LevelFilter::TRACE))
    }

    /// Sends what has not been sent yet, if that does not take too long.
    pub(super) async fn finish(self, patience: Duration) {
        // It waits for a thread that waits for this runtime.
        let sent = tokio::task::spawn_blocking(move || self.0.shutdown_with_timeout(patience)).await;
        if !matches!(sent, Ok(Ok(()))) {
            tracing::warn!("the last traces could not be sent");
        }
    }
}

/// What speaks to a collector. The system's certificates are looked for only if it takes any.
fn client(endpoint: &str) -> Result<Arc<dyn HttpClient>, Box<dyn Error + Send + Sync>> {
    if endpoint.starts_with("http:") {
        return Ok(Arc::new(HyperClient::with_default_connector(ANSWER, None)));
    }
    let connector = HttpsConnectorBuilder::new().with_native_roots()?.https_only().enable_http1().build();
    Ok(Arc::new(HyperClient::new(connector, ANSWER, None)))
}

/// Sends from the runtime of the process what a thread outside wants to have sent.
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
            Ok(answer) => tracing::warn!(status = answer.status().as_u16(), "the collector takes no traces"),
            Err(error) => tracing::warn!(error = &**error as &dyn Error, "traces cannot be sent"),
        }
        sent
    }
}
