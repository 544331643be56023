//! Limits on what one client may have open at a time.

use clap::Args;

/// Limits on what one client may have open at a time, per process.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clients")]
pub struct ClientConfig {
    /// WebSockets and event streams that one user may have open in this process.
    #[arg(long, value_name = "N", env = "FANFOLD_SOCKETS_PER_USER", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sockets_per_user: u32,

    /// WebSockets and event streams that one address may have open in this process.
    ///
    /// Behind a proxy, --http-trusted-proxies determines the address.
    #[arg(long, value_name = "N", env = "FANFOLD_SOCKETS_PER_ADDRESS", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sockets_per_address: u32,

    /// Subscriptions per WebSocket.
    #[arg(long, value_name = "N", env = "FANFOLD_WATCHES_PER_SOCKET", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub watches_per_socket: u32,

    /// Connections that one address may have open in this process; never more than half of all.
    ///
    /// Proxies in --http-trusted-proxies are exempt. An idle connection is closed to make room for a new one. The limit
    /// of open files determines the maximum in all.
    #[arg(long, value_name = "N", env = "FANFOLD_CONNECTIONS_PER_ADDRESS", default_value_t = 4_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections_per_address: u32,
}
