//! Options of the HTTP server: addresses, limits and timeouts.

use std::time::Duration;

use clap::Args;
use ipnet::IpNet;

use crate::config::value::{host, network, origin};
use crate::config::{ClientConfig, ListenConfig};

/// Options of the HTTP server.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct HttpConfig {
    /// Addresses to listen on.
    #[command(flatten)]
    pub addresses: ListenConfig,

    /// Number of threads that serve requests [default: the number of processors].
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_THREADS")]
    #[arg(value_parser = clap::value_parser!(u16).range(1..=256))]
    pub http_threads: Option<u16>,

    /// Maximum size of a request body, in bytes.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_HTTP_BODY_LIMIT", default_value_t = 65_536)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_024..=16_777_216))]
    pub http_body_limit: u64,

    /// Maximum memory for requests and responses in progress in this process, in bytes.
    ///
    /// Counts heads and bodies that arrive, operations that wait or run, and responses that clients have not read yet.
    /// An address may occupy an eighth. A request that alone occupies memory, at its address or in the process, may
    /// exceed the limit.
    #[arg(long, value_name = "BYTES", env = "FANFOLD_HTTP_MEMORY_LIMIT", default_value_t = 134_217_728)]
    #[arg(value_parser = clap::value_parser!(u64).range(1_048_576..=1_099_511_627_776))]
    pub http_memory_limit: u64,

    /// Maximum number of operations in a batch, which is a JSON array; 0 disables batches.
    ///
    /// The operations of a batch share the cost limit and the budget of a single operation. Consecutive queries run
    /// concurrently, mutations sequentially.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_BATCH_LIMIT", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u8).range(0..=10))]
    pub http_batch_limit: u8,

    /// `max-age` of publicly cacheable responses, in seconds; 0 disables caching.
    ///
    /// Cacheable responses are those to anonymous GET queries that select nothing viewer-dependent.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_PUBLIC_MAX_AGE", default_value_t = 0)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=86_400))]
    pub http_public_max_age: u32,

    /// Origins whose pages may send requests, such as <https://app.example.org>, separated by commas; * allows all.
    ///
    /// The server's own pages may always send requests. A server that listens on a loopback address also accepts pages
    /// of all sites on the same machine, and requests for its address and localhost. Behind a proxy that forwards
    /// another host name, list the origin with that name as well.
    #[arg(long, value_name = "ORIGINS", env = "FANFOLD_HTTP_CORS_ORIGINS", value_delimiter = ',')]
    #[arg(value_parser = origin)]
    pub http_cors_origins: Vec<String>,

    /// Host names that this server accepts, such as feed.example.org, separated by commas [default: any].
    ///
    /// The server rejects requests for any other name with 421. A name without a port matches all ports. By default, a
    /// server that listens on a loopback address accepts its address and localhost, and so does its admin listener.
    #[arg(long, value_name = "HOSTS", env = "FANFOLD_HTTP_HOSTS", value_delimiter = ',', value_parser = host)]
    pub http_hosts: Vec<String>,

    /// Proxies in front of this server, such as 10.0.0.0/8 or 192.0.2.7, separated by commas.
    ///
    /// The server attributes a request from a listed proxy to the last address in X-Forwarded-For that is not a listed
    /// proxy, and joins the trace in its traceparent. Behind an unlisted proxy, all clients share one address and
    /// exhaust each other's limits.
    #[arg(long, value_name = "NETWORKS", env = "FANFOLD_HTTP_TRUSTED_PROXIES", value_delimiter = ',')]
    #[arg(value_parser = network)]
    pub http_trusted_proxies: Vec<IpNet>,

    /// Timeout of an idle connection, in seconds.
    ///
    /// A request head must arrive within ten seconds of its first byte, or within this timeout if it is shorter. A
    /// proxy that keeps connections open should have a shorter idle timeout.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_IDLE_TIMEOUT", default_value_t = 75)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    pub http_idle_timeout: u32,

    /// Maximum number of open WebSockets and event streams in this process.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS", default_value_t = 10_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=1_000_000))]
    pub http_sockets: u32,

    /// Limits per client in this process.
    #[command(flatten)]
    pub clients: ClientConfig,

    /// Timeout for requests in progress when the server stops, in seconds.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HTTP_SHUTDOWN_TIMEOUT", default_value_t = 10)]
    #[arg(value_parser = clap::value_parser!(u32).range(0..=3_600))]
    pub http_shutdown_timeout: u32,
}

impl HttpConfig {
    /// Returns the timeout for requests in progress when the server stops.
    #[must_use]
    pub fn shutdown_timeout(&self) -> Duration {
        Duration::from_secs(self.http_shutdown_timeout.into())
    }
}
