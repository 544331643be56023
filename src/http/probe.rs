//! A client for a server's probes, for machines and containers without another HTTP client.

use std::io;
use std::net::{IpAddr, Ipv4Addr, Ipv6Addr, SocketAddr};

use axum::body::Body;
use axum::http::{Request, StatusCode, header};
use hyper::client::conn::http1;
use hyper_util::rt::TokioIo;
use thiserror::Error;
use tokio::net::{TcpStream, UnixStream};
use tokio_util::either::Either;

use crate::config::ListenAddress;
use crate::http::listener::Stream;

/// Maximum size of a probe's response, in bytes.
const RESPONSE: usize = 4_096;

/// A probe of a server.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Probe {
    /// The process is alive.
    Alive,
    /// The server can serve requests.
    Ready,
}

impl Probe {
    fn path(self) -> &'static str {
        match self {
            Self::Alive => "/healthz",
            Self::Ready => "/readyz",
        }
    }
}

/// The reason why a probe failed.
#[derive(Debug, Error)]
pub enum ProbeError {
    /// The server cannot be reached.
    #[error("cannot connect")]
    Connect(#[source] io::Error),
    /// The connection failed before a response arrived.
    #[error("the server does not respond")]
    Exchange(#[source] hyper::Error),
    /// The response is incomplete or too long.
    #[error("the response cannot be read")]
    Body(#[source] axum::Error),
    /// The server responds that it is not alive or not ready.
    #[error("the server responds with {0}: {1}")]
    Status(StatusCode, String),
}

/// Sends a probe to the admin listener at an address, and returns the text of the response.
///
/// # Errors
/// If the server does not respond, or reports that it is not alive or not ready.
pub async fn probe(address: &ListenAddress, probe: Probe) -> Result<String, ProbeError> {
    let stream = connect(address).await.map_err(ProbeError::Connect)?;
    let (mut sender, connection) =
        http1::handshake(TokioIo::new(stream)).await.map_err(ProbeError::Exchange)?;
    let exchange = async {
        let mut request = Request::new(Body::empty());
        *request.uri_mut() = axum::http::Uri::from_static(probe.path());
        request.headers_mut().insert(header::HOST, header::HeaderValue::from_static("localhost"));
        let response = sender.send_request(request).await.map_err(ProbeError::Exchange)?;
        let status = response.status();
        let body = axum::body::to_bytes(Body::new(response.into_body()), RESPONSE).await;
        let text = String::from_utf8_lossy(&body.map_err(ProbeError::Body)?).trim().to_owned();
        if status.is_success() { Ok(text) } else { Err(ProbeError::Status(status, text)) }
    };
    tokio::pin!(exchange);
    tokio::select! {
        result = &mut exchange => result,
        // An error of the connection reaches the exchange as well.
        _ = connection => exchange.await,
    }
}

async fn connect(address: &ListenAddress) -> io::Result<Stream> {
    match address {
        ListenAddress::Tcp(address) => TcpStream::connect(reachable(*address)).await.map(Either::Left),
        ListenAddress::Unix(path) => UnixStream::connect(path).await.map(Either::Right),
    }
}

/// Returns the address under which a server on this machine is reached: a loopback address if it listens on all
/// addresses.
fn reachable(mut address: SocketAddr) -> SocketAddr {
    if address.ip().is_unspecified() {
        address.set_ip(match address.ip() {
            IpAddr::V4(_) => Ipv4Addr::LOCALHOST.into(),
            IpAddr::V6(_) => Ipv6Addr::LOCALHOST.into(),
        });
    }
    address
}
