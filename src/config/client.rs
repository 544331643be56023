//! Limits per client: connections, WebSockets and subscriptions.

use clap::Args;

/// Limits per client in each process: connections, WebSockets and subscriptions.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clients")]
pub struct ClientConfig {
    /// Maximum number of open WebSockets and event streams per user in this process.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS_PER_USER", default_value_t = 100)]
    #[arg(alias = "sockets-per-user", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub http_sockets_per_user: u32,

    /// Maximum number of open WebSockets and event streams per client address in this process.
    ///
    /// Behind a proxy, --http-trusted-proxies determines the address.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SOCKETS_PER_ADDRESS", default_value_t = 2_000)]
    #[arg(alias = "sockets-per-address", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub http_sockets_per_address: u32,

    /// Maximum number of subscriptions per WebSocket.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_SUBSCRIPTIONS_PER_SOCKET", default_value_t = 100)]
    #[arg(alias = "watches-per-socket", value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub http_subscriptions_per_socket: u32,

    /// Maximum number of open connections per client address in this process, at most half of all connections.
    ///
    /// Proxies in --http-trusted-proxies are exempt. The server closes idle connections to make room for new
    /// connections. The open-file limit determines the maximum number of all connections.
    #[arg(long, value_name = "N", env = "FANFOLD_HTTP_CONNECTIONS_PER_ADDRESS", default_value_t = 4_000)]
    #[arg(alias = "connections-per-address", value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub http_connections_per_address: u32,
}
