//! Options of the log and of traces.

use clap::{Args, ValueEnum};

use crate::config::value::collector;

/// Options of the log.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct LogConfig {
    /// Format of the log, which goes to standard error.
    #[arg(long, value_name = "FORM", env = "FANFOLD_LOG_FORMAT", default_value = "text")]
    #[arg(alias = "log")]
    pub log_format: LogForm,

    /// Log a line for each request, with its type, duration and outcome.
    ///
    /// Equivalent to fanfold::http::log=debug in --log-filter.
    #[arg(long, env = "FANFOLD_LOG_REQUESTS")]
    pub log_requests: bool,

    /// Log level (error, warn, info, debug, trace), optionally per module, as in info,fanfold::store=debug.
    #[arg(long, value_name = "FILTER", env = "FANFOLD_LOG_FILTER", default_value = "info")]
    pub log_filter: String,
}

/// Options of traces.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Log")]
pub struct TraceConfig {
    /// OpenTelemetry collector that receives traces of requests, such as <http://127.0.0.1:4318>.
    ///
    /// The server sends traces by OTLP over HTTP, as protobuf. OpenTelemetry's own variables (OTEL_TRACES_SAMPLER,
    /// OTEL_RESOURCE_ATTRIBUTES, OTEL_EXPORTER_OTLP_HEADERS …) configure sampling and the description of the service.
    #[arg(long, value_name = "URL", env = "FANFOLD_TRACE_OTLP_ENDPOINT", value_parser = collector)]
    #[arg(alias = "otlp-endpoint")]
    pub trace_otlp_endpoint: Option<String>,
}

impl TraceConfig {
    /// Returns the collector's URL; `None` if traces are disabled.
    #[must_use]
    pub fn collector(&self) -> Option<&str> {
        // An empty environment variable counts as unset.
        self.trace_otlp_endpoint.as_deref().filter(|url| !url.is_empty())
    }
}

/// A format of the log.
#[derive(Clone, Copy, Debug, PartialEq, Eq, ValueEnum)]
pub enum LogForm {
    /// A line of text per event.
    Text,
    /// A JSON object per event, each on one line.
    Json,
}
