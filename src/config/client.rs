//! How much one client may have at a time.

use clap::Args;

/// How much one client may have at a time, of each process.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Clients")]
pub struct ClientConfig {
    /// WebSockets, and streams of events, that one user may have open in this process.
    #[arg(long, value_name = "N", env = "FANFOLD_SOCKETS_PER_USER", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sockets_per_user: u32,

    /// WebSockets, and streams of events, that may be open from one address in this process.
    ///
    /// --http-trusted-proxies tells what counts as an address behind a proxy.
    #[arg(long, value_name = "N", env = "FANFOLD_SOCKETS_PER_ADDRESS", default_value_t = 2_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub sockets_per_address: u32,

    /// Subscriptions over one WebSocket.
    #[arg(long, value_name = "N", env = "FANFOLD_WATCHES_PER_SOCKET", default_value_t = 100)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=10_000))]
    pub watches_per_socket: u32,

    /// Connections that may be open from one address in this process; never more than half of all.
    ///
    /// Those of --http-trusted-proxies are not limited. An idle connection is closed to make room for another. How many
    /// there may be in all follows from the limit of open files.
    #[arg(long, value_name = "N", env = "FANFOLD_CONNECTIONS_PER_ADDRESS", default_value_t = 4_000)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=1_000_000))]
    pub connections_per_address: u32,
}
