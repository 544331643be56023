//! Connections: how they are taken, kept and closed.

use std::time::Duration;

use axum::Router;
use axum::serve::{Listener as _, ListenerExt as _};
use hyper::server::conn::http1;
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::server::graceful::GracefulShutdown;
use hyper_util::service::TowerToHyperService;
use tokio::net::TcpListener;

/// Serves all who come until `stopped`, then finishes the requests whose head was read. A connection on which for
/// so long no request has come, or not all of its head, is closed.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    idle: Duration,
    stopped: impl Future<Output = ()>,
) {
    // An answer is sent at once, not kept back to be sent together with the next.
    let mut listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(idle);
    let connections = GracefulShutdown::new();
    let mut stopped = std::pin::pin!(stopped);
    loop {
        let stream = tokio::select! {
            // If it cannot be taken, it is tried again.
            (stream, _) = listener.accept() => TokioIo::new(stream),
            () = &mut stopped => break,
        };
        let connection = protocol.serve_connection(stream, TowerToHyperService::new(router.clone()));
        // How a connection ends is its client's affair.
        tokio::spawn(connections.watch(connection));
    }
    drop(listener);
    connections.shutdown().await;
}
