//! The addresses that a server listens on.

use std::net::{Ipv4Addr, SocketAddr};

use clap::Args;

use crate::config::value::{AdminListen, ListenAddress};

/// The default port of the admin listener of a server that listens on a Unix socket.
const ADMIN_PORT: u16 = 8_081;

/// The addresses that a server listens on.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "HTTP")]
pub struct ListenConfig {
    /// Address and port to listen on, or unix: and the path of a Unix socket; port 0 chooses a free port.
    ///
    /// A Unix socket has the mode 660: its group may connect as well. Everyone who can connect counts as a proxy, so
    /// the server attributes requests to the addresses in X-Forwarded-For.
    #[arg(long, value_name = "ADDRESS", env = "FANFOLD_HTTP_LISTEN", default_value = "127.0.0.1:8080")]
    #[arg(alias = "listen")]
    pub http_listen: ListenAddress,

    /// Address of /metrics, /healthz and /readyz, like --http-listen; off disables them [default: 127.0.0.1, with the
    /// port after that of --http-listen].
    ///
    /// All who can reach this address can read the metrics. If --http-listen has port 0, so has the default; if it is a
    /// Unix socket, the default port is 8081.
    #[arg(long, value_name = "ADDRESS", env = "FANFOLD_HTTP_ADMIN_LISTEN")]
    pub http_admin_listen: Option<AdminListen>,
}

impl ListenConfig {
    /// Returns the address of the admin listener; `None` if there is none.
    #[must_use]
    pub fn admin(&self) -> Option<ListenAddress> {
        match &self.http_admin_listen {
            Some(AdminListen::At(address)) => Some(address.clone()),
            Some(AdminListen::Off) => None,
            None => {
                let port = match &self.http_listen {
                    ListenAddress::Tcp(address) => port_beside(address.port()),
                    ListenAddress::Unix(_) => ADMIN_PORT,
                };
                Some(ListenAddress::Tcp(SocketAddr::from((Ipv4Addr::LOCALHOST, port))))
            }
        }
    }
}

/// Returns the port after a port, or before the last one. Port 0 chooses a free port, so it has no port beside it.
fn port_beside(port: u16) -> u16 {
    match port {
        0 => 0,
        u16::MAX => u16::MAX - 1,
        port => port + 1,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn admin(listen: &str, http_admin_listen: Option<&str>) -> Option<String> {
        let http_admin_listen = http_admin_listen.map(|text| text.parse().unwrap());
        let config = ListenConfig { http_listen: listen.parse().unwrap(), http_admin_listen };
        config.admin().map(|address| address.to_string())
    }

    #[test]
    fn the_admin_listener_is_on_the_loopback_address_beside_the_main_port() {
        for (listen, expected) in [
            ("127.0.0.1:8080", "127.0.0.1:8081"),
            ("0.0.0.0:80", "127.0.0.1:81"),
            ("[2001:db8::1]:9000", "127.0.0.1:9001"),
            ("0.0.0.0:65535", "127.0.0.1:65534"),
            ("127.0.0.1:0", "127.0.0.1:0"),
            ("unix:/run/fanfold.sock", "127.0.0.1:8081"),
        ] {
            assert_eq!(admin(listen, None).as_deref(), Some(expected), "{listen}");
            assert_eq!(admin(listen, Some("off")), None);
            assert_eq!(admin(listen, Some("0.0.0.0:9")).as_deref(), Some("0.0.0.0:9"));
        }
    }
}
