//! The stream of a connection, which fails if the client is idle for too long, or sends a request head too slowly.
//!
//! Each request head has the same timeout, from its first byte; before it, the connection is idle. The memory of an
//! unfinished head is that of [`Share`]. A head that exceeds the free part holds its memory until the connection
//! closes, which is after the response, because the buffer into which it was read stays that large.
//!
//! # What is read ahead
//! At most [`FREE`] bytes are read at a time. So if a client sends requests without waiting for responses, no more than
//! that is in memory when the next head begins.
//!
//! Not here: bodies (`http::request`), and WebSockets (`http::websocket`).

use std::io::{ErrorKind, IoSlice, Result};
use std::pin::Pin;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::http::StatusCode;
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, ReadBuf, Take};
use tokio::time::{Instant, Sleep, sleep};
use tokio_util::either::Either;

use crate::graphql::error::whole_seconds;
use crate::http::listener::Stream;
use crate::http::memory::{self, FREE, Share};
use crate::http::peer::Entry;

/// Time within which a head, a body or a message must arrive, from its first byte.
pub(super) const TIMEOUT: Duration = Duration::from_secs(10);
/// Timeout of a head on a spare connection, and of silence on one.
const TIMEOUT_OF_SPARE: Duration = Duration::from_secs(3);

/// A connection's stream. It holds the connection's registration until it is closed, even if the connection has become
/// a WebSocket.
pub(super) struct Inbound {
    stream: Take<Stream>,
    entry: Entry,
    share: Share,
    /// Timeout of a head, and of a connection on which nothing has arrived yet.
    head_timeout: Duration,
    idle_timeout: Duration,
    /// Number of heads that had arrived when the current one was awaited first.
    heads: u64,
    /// Size of the unfinished head, in bytes.
    arrived: usize,
    /// What the timer is set for; `None` if it is not set.
    wait: Option<Wait>,
    timer: Pin<Box<Sleep>>,
}

/// What a connection waits for.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Wait {
    /// The first byte.
    First,
    /// The rest of a head.
    Rest,
    /// The first byte of a further request.
    Next,
}

impl Inbound {
    /// Creates the stream of a connection that may be idle for `idle_timeout`.
    pub(super) fn new(stream: Stream, entry: Entry, share: Share, idle_timeout: Duration) -> Self {
        let head_timeout = if entry.peer.spare.is_some() { TIMEOUT_OF_SPARE } else { TIMEOUT };
        Self {
            stream: stream.take(0),
            entry,
            share,
            head_timeout: head_timeout.min(idle_timeout),
            idle_timeout,
            heads: 0,
            arrived: 0,
            wait: None,
            timer: Box::pin(sleep(idle_timeout)),
        }
    }

    /// Returns true if the next bytes belong to a head, and false while a request is in progress, and on a WebSocket.
    fn awaits_head(&mut self) -> bool {
        let peer = &self.entry.peer;
        let heads = peer.heads();
        if heads != self.heads {
            (self.heads, self.arrived, self.wait) = (heads, 0, None);
        }
        if peer.is_socket() {
            // The buffer of the head is gone.
            self.share.shrink(0);
        }
        !peer.is_busy()
    }

    /// Counts bytes of a head. Rejects the request if it exceeds the memory for unfinished ones.
    fn count(&mut self, bytes: usize) -> Result<()> {
        self.arrived += bytes;
        if self.arrived > FREE {
            self.entry.peer.note_large_head();
        }
        self.share.resize(self.arrived).map_err(|full| {
            reject(self.stream.get_ref(), full.status(), memory::RETRY_AFTER);
            ErrorKind::QuotaExceeded.into()
        })
    }

    /// Fails once the timeout has elapsed.
    fn poll_timeout(&mut self, context: &mut Context<'_>) -> Poll<Result<()>> {
        let wait = match (self.arrived, self.heads) {
            (0, 0) => Wait::First,
            (0, _) => Wait::Next,
            _ => Wait::Rest,
        };
        if self.wait != Some(wait) {
            let timeout = if wait == Wait::Next { self.idle_timeout } else { self.head_timeout };
            self.timer.as_mut().reset(Instant::now() + timeout);
            self.wait = Some(wait);
        }
        ready!(self.timer.as_mut().poll(context));
        Poll::Ready(Err(ErrorKind::TimedOut.into()))
    }
}

/// Writes a response without a body if that does not block. The client may retry after this time. The connection must
/// be closed afterwards.
pub(super) fn reject(stream: &Stream, status: StatusCode, retry_after: Duration) {
    let seconds = whole_seconds(retry_after);
    let head = format!(
        "HTTP/1.1 {status}\r\nconnection: close\r\nretry-after: {seconds}\r\ncontent-length: 0\r\n\r\n"
    );
    drop(match stream {
        Either::Left(stream) => stream.try_write(head.as_bytes()),
        Either::Right(stream) => stream.try_write(head.as_bytes()),
    });
}

impl AsyncRead for Inbound {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<Result<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        this.stream.set_limit(FREE as u64);
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        match polled {
            Poll::Ready(Ok(())) if this.awaits_head() => {
                Poll::Ready(this.count(buffer.filled().len() - before))
            }
            Poll::Pending if this.awaits_head() => this.poll_timeout(context),
            polled => polled,
        }
    }
}

impl AsyncWrite for Inbound {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<Result<usize>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<Result<()>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_shutdown(context)
    }

    fn poll_write_vectored(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        slices: &[IoSlice<'_>],
    ) -> Poll<Result<usize>> {
        Pin::new(self.get_mut().stream.get_mut()).poll_write_vectored(context, slices)
    }

    fn is_write_vectored(&self) -> bool {
        self.stream.get_ref().is_write_vectored()
    }
}
