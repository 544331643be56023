//! `fanfold healthcheck`: sends a probe to a server.

use std::process::ExitCode;
use std::time::Duration;

use clap::Args;

use crate::cli::{Outcome, say};
use crate::config::{ListenAddress, ListenConfig};
use crate::http::{Probe, probe};

/// Checks that a server on this machine is alive, for containers without an HTTP client.
///
/// Sends a request to the server's admin listener, with the server's own options or environment. Exits with 0 if the
/// server responds, otherwise with 1.
#[derive(Args, Debug)]
pub(super) struct Healthcheck {
    /// Check that the server can serve requests (/readyz), instead of that it is alive (/healthz).
    #[arg(long, env = "FANFOLD_HEALTHCHECK_READY")]
    ready: bool,

    /// Timeout of the check, in seconds.
    #[arg(long, value_name = "SECONDS", env = "FANFOLD_HEALTHCHECK_TIMEOUT", default_value_t = 5)]
    #[arg(value_parser = clap::value_parser!(u32).range(1..=3_600))]
    timeout: u32,

    #[command(flatten)]
    addresses: ListenConfig,
}

impl Healthcheck {
    pub(super) async fn run(self) -> Outcome {
        let address =
            self.addresses.admin().ok_or("the server has no admin listener: --http-admin-listen is off")?;
        if matches!(&address, ListenAddress::Tcp(address) if address.port() == 0) {
            return Err(
                "the server chooses a free port for its admin listener; name the port in --http-admin-listen"
                    .into(),
            );
        }
        let kind = if self.ready { Probe::Ready } else { Probe::Alive };
        let timeout = Duration::from_secs(self.timeout.into());
        match tokio::time::timeout(timeout, probe(&address, kind)).await {
            Ok(Ok(text)) => {
                say(&text)?;
                Ok(ExitCode::SUCCESS)
            }
            Ok(Err(error)) => Err(Failed { address, error }.into()),
            Err(_elapsed) => {
                Err(format!("{address} does not respond within {} seconds", timeout.as_secs()).into())
            }
        }
    }
}

/// A probe that failed.
#[derive(Debug, thiserror::Error)]
#[error("the check of {address} failed")]
struct Failed {
    address: ListenAddress,
    #[source]
    error: crate::http::ProbeError,
}
