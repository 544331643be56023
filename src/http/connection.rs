//! Accepts, serves and closes connections.
//!
//! Not here: the maximum number of connections, and the choice of idle connections to close (`http::peer`); the size of
//! request heads, and the time within which they arrive (`http::inbound`).

use std::convert::Infallible;
use std::net::SocketAddr;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll};
use std::time::Duration;

use axum::Router;
use axum::body::Body;
use axum::extract::ConnectInfo;
use axum::http::{HeaderValue, StatusCode, header};
use axum::response::Response;
use hyper::Request;
use hyper::body::{Body as HttpBody, Bytes, Frame, Incoming, SizeHint};
use hyper::server::conn::http1;
use hyper::service::{Service as _, service_fn};
use hyper_util::rt::TokioIo;
use hyper_util::service::TowerToHyperService;
use tokio::net::{TcpStream, UnixStream};
use tokio::sync::watch;
use tokio_io_timeout::TimeoutStream;
use tokio_util::either::Either;
use tokio_util::task::TaskTracker;

use crate::http::accept::MediaType;
use crate::http::address::Local;
use crate::http::fair::fairly;
use crate::http::inbound::{Inbound, reject};
use crate::http::listener::{Listener, Stream};
use crate::http::memory::Memory;
use crate::http::peer::{Entry, Full, Peer, Peers};
use crate::http::response::{self, Failure};
use crate::worker::Workers;

/// Maximum size of a request head, in bytes.
const BUFFER: usize = 65_536;
/// Write timeout: the time within which a client must read some of the response.
const TAKEN_WITHIN: Duration = Duration::from_secs(30);

/// The threads that serve connections.
pub(super) enum Threads<'a> {
    /// The workers.
    Workers(&'a Workers),
    /// The threads of the current runtime, which respond even while all workers are busy.
    Runtime,
}

impl Threads<'_> {
    fn spawn(&self, task: impl Future<Output = ()> + Send + 'static) {
        match self {
            Self::Workers(workers) => workers.spawn(task),
            Self::Runtime => drop(tokio::spawn(task)),
        }
    }
}

/// Serves connections until the common stop signal turns true, then finishes the requests whose heads have been read.
pub(super) async fn serve(mut listener: Listener, threads: Threads<'_>, common: Common) {
    let connections = TaskTracker::new();
    let mut stopped = std::pin::pin!(turns_true(common.stopping.clone()));
    loop {
        let (stream, peer) = tokio::select! {
            // The listener itself retries failed accepts.
            accepted = listener.accept() => accepted,
            () = &mut stopped => break,
        };
        match common.peers.enter(peer.map(|peer| peer.ip())) {
            Ok(entry) => {
                let address = entry.peer.address;
                let kept = keep_here(stream, peer, entry, common.clone());
                threads.spawn(connections.track_future(fairly(address, kept)));
            }
            Err(full) => reject(&stream, full.status(), response::RETRY_AFTER),
        }
    }
    drop(listener);
    connections.close();
    connections.wait().await;
}

/// State shared by all connections to a listener.
#[derive(Clone)]
pub(super) struct Common {
    protocol: http1::Builder,
    router: Router,
    peers: Arc<Peers>,
    memory: Arc<Memory>,
    idle: Duration,
    stopping: watch::Receiver<bool>,
}

impl Common {
    /// Creates the state. A connection that has been idle for `idle` is closed.
    pub(super) fn new(
        router: Router,
        peers: Arc<Peers>,
        memory: Arc<Memory>,
        idle: Duration,
        stopping: watch::Receiver<bool>,
    ) -> Self {
        let mut protocol = http1::Builder::new();
        // The library's timeout of a head begins with the end of the previous response.
        protocol.header_read_timeout(None).max_buf_size(BUFFER);
        Self { protocol, router, peers, memory, idle, stopping }
    }
}

/// Serves one connection that was accepted on another thread.
async fn keep_here(stream: Stream, from: Option<SocketAddr>, entry: Entry, common: Common) {
    // Moves the stream to this thread's runtime. If that fails, for lack of memory, the connection is closed.
    let moved = match stream {
        Either::Left(stream) => stream.into_std().and_then(TcpStream::from_std).map(Either::Left),
        Either::Right(stream) => stream.into_std().and_then(UnixStream::from_std).map(Either::Right),
    };
    if let Ok(stream) = moved {
        keep(stream, from, entry, common).await;
    }
}

/// Serves one connection until it closes. Does not log connection errors, which are the client's concern.
async fn keep(stream: Stream, from: Option<SocketAddr>, entry: Entry, common: Common) {
    let Common { protocol, router, peers, memory, idle, stopping } = common;
    let peer = Arc::clone(&entry.peer);
    let share = memory.share(peer.address);
    let mut stream = TimeoutStream::new(Inbound::new(stream, entry, share, idle));
    stream.set_write_timeout(Some(TAKEN_WITHIN));
    let router = TowerToHyperService::new(router);
    let service = service_fn(|mut request: Request<Incoming>| {
        let under_way = UnderWay::begin(&peers, &peer);
        match from {
            Some(from) => drop(request.extensions_mut().insert(ConnectInfo(from))),
            None => drop(request.extensions_mut().insert(Local)),
        }
        let ends = peer.has_large_head();
        let answering = peer.spare.map_or_else(|| Ok(router.call(request)), Err);
        async move {
            let mut response = match answering {
                Ok(answering) => answering.await?,
                Err(full) => busy(full),
            };
            if ends && response.status() != StatusCode::SWITCHING_PROTOCOLS {
                close_after(&mut response);
            }
            Ok::<_, Infallible>(under_way.until_sent(response))
        }
    });
    let connection = protocol.serve_connection(TokioIo::new(Box::pin(stream)), service);
    let mut connection = std::pin::pin!(connection.with_upgrades());
    let mut stopped = std::pin::pin!(turns_true(stopping));
    loop {
        tokio::select! {
            _ = &mut connection => return,
            // A request without a complete head has had no effect, so the connection can be closed.
            () = &mut stopped => if peer.heads() > 0 {
                connection.as_mut().graceful_shutdown();
                break;
            } else {
                return;
            },
            () = peer.closing() => if !peers.keeps(&peer) {
                return;
            },
        }
    }
    drop(connection.await);
}

/// Returns the response to all requests on a spare connection.
fn busy(full: Full) -> Response {
    let mut response = Failure::busy(full.status()).into_response(MediaType::Json);
    close_after(&mut response);
    response
}

/// Closes the connection after a response.
fn close_after(response: &mut Response) {
    response.headers_mut().insert(header::CONNECTION, HeaderValue::from_static("close"));
}

/// A guard that marks a connection as busy until the response is sent completely, or permanently if the connection
/// becomes a WebSocket.
struct UnderWay {
    peers: Arc<Peers>,
    peer: Arc<Peer>,
}

impl UnderWay {
    fn begin(peers: &Arc<Peers>, peer: &Arc<Peer>) -> Self {
        peer.begin();
        Self { peers: Arc::clone(peers), peer: Arc::clone(peer) }
    }

    fn until_sent(self, response: Response) -> axum::http::Response<Answer> {
        if response.status() == StatusCode::SWITCHING_PROTOCOLS {
            self.peer.become_socket();
        }
        response.map(|body| Answer { body, _under_way: self })
    }
}

impl Drop for UnderWay {
    fn drop(&mut self) {
        if !self.peer.is_socket() {
            self.peers.end(&self.peer);
        }
    }
}

/// A response body that holds the request's guard until the body is sent completely.
struct Answer {
    body: Body,
    _under_way: UnderWay,
}

impl HttpBody for Answer {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        Pin::new(&mut self.get_mut().body).poll_frame(context)
    }

    fn is_end_stream(&self) -> bool {
        self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        self.body.size_hint()
    }
}

/// Waits until the watched value turns true. Returns early if the sender is dropped.
pub(super) async fn turns_true(mut switch: watch::Receiver<bool>) {
    // An error means that the sender was dropped: the value can no longer change.
    let _ = switch.wait_for(|is_on| *is_on).await;
}
