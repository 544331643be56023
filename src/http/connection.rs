//! Connections: how they are taken, kept and closed.

use std::net::SocketAddr;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use axum::Router;
use axum::extract::ConnectInfo;
use axum::serve::{Listener as _, ListenerExt as _};
use hyper::Request;
use hyper::body::Incoming;
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::{TokioIo, TokioTimer};
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpListener, TcpStream};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;
use tokio_util::task::TaskTracker;

/// Most bytes of a head, and of what is read of a body before it is asked for.
const BUFFER: usize = 65_536;
/// How long a client may take to take anything of what it is sent.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// Serves all who come until `stopping` turns true, then finishes the requests whose head was read. A connection on
/// which for so long no request has come, or not all of its head, is closed.
pub(super) async fn serve(
    listener: TcpListener,
    router: Router,
    idle: Duration,
    stopping: watch::Receiver<bool>,
) {
    // An answer is sent at once, not kept back to be sent together with the next.
    let mut listener = listener.tap_io(|stream| drop(stream.set_nodelay(true)));
    let mut protocol = http1::Builder::new();
    protocol.timer(TokioTimer::new()).header_read_timeout(idle).max_buf_size(BUFFER);
    let connections = TaskTracker::new();
    let mut stopped = std::pin::pin!(turns_true(stopping.clone()));
    loop {
        let (stream, peer) = tokio::select! {
            // If it cannot be taken, it is tried again.
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        connections.spawn(keep(stream, peer, protocol.clone(), router.clone(), stopping.clone()));
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// Serves one connection to its end. How that comes is its client's affair.
async fn keep(
    stream: TcpStream,
    peer: SocketAddr,
    protocol: http1::Builder,
    router: Router,
    stopping: watch::Receiver<bool>,
) {
    let mut stream = TimeoutStream::new(stream);
    stream.set_write_timeout(Some(TAKEN_WITHIN));
    let router = TowerToHyperService::new(router);
    let has_asked = AtomicBool::new(false);
    let service = service_fn(|mut request: Request<Incoming>| {
        has_asked.store(true, Ordering::Relaxed);
        request.extensions_mut().insert(ConnectInfo(peer));
        router.call(request)
    });
    let connection = protocol.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    tokio::select! {
        _ = &mut connection => return,
        // Of a request that has no whole head yet nothing is lost.
        () = turns_true(stopping) => if has_asked.load(Ordering::Relaxed) {
            connection.as_mut().graceful_shutdown();
        } else {
            return;
        },
    }
    drop(connection.await);
}

/// Waits until this turns true.
pub(super) async fn turns_true(mut switch: watch::Receiver<bool>) {
    // A sender that is gone cannot say anything else any more.
    let _ = switch.wait_for(|is_on| *is_on).await;
}
