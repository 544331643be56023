//! The WebSocket transport: the handshake, and messages in frames of limited size (RFC 6455).
//!
//! # Why frames
//! The library copies a whole frame before it sends the first byte. As a single frame, a message would take twice its
//! size in memory until a slow client has read it, and a message of megabytes would block a worker thread for
//! milliseconds.
//!
//! # What a client can hold
//! A message must arrive in time from its first byte, and occupies a [`Share`] until the next one is received. The
//! library keeps a buffer as large as the largest frame that it has read: after a large one, it is replaced by a new
//! one. That needs an empty buffer, and the library does not report what it has read ahead. So it is computed from the
//! number of bytes read and the sizes of messages. For a client that divides messages into frames, or sends the next
//! message at once, the number is too high and the buffer stays; it then counts as memory of the client.
//!
//! Not here: the subprotocol (`http::socket`).

use std::io::Result as IoResult;
use std::pin::Pin;
use std::task::{Context, Poll, ready};

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{FutureExt as _, SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio::io::{AsyncRead, AsyncWrite, ReadBuf};
use tokio::time::{Sleep, sleep};
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
pub(super) use tokio_tungstenite::tungstenite::Error as WebSocketError;
pub(super) use tokio_tungstenite::tungstenite::Utf8Bytes;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
pub(super) use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::graphql::error::Code;
use crate::http::inbound::TIMEOUT;
use crate::http::list;
use crate::http::memory::{FREE, Full, Share};
use crate::http::response::Failure;

/// Size of the read buffer and of the write buffer, in bytes. Both are small, since there may be thousands of
/// WebSockets, most of them idle.
const BUFFER: usize = 4_096;
/// Maximum payload of an outgoing frame, in bytes.
const FRAME: usize = 16_384;

/// A valid upgrade request.
pub(super) struct Handshake {
    accept_key: String,
    on_upgrade: OnUpgrade,
    /// The server's subprotocol, if the client offers it.
    protocol: Option<&'static str>,
}

/// An open WebSocket.
pub(super) struct WebSocket {
    /// `None` if the library could not replace its buffer, which then counts as a broken connection.
    stream: Option<WebSocketStream<Counting>>,
    /// Maximum size of a message, in bytes.
    limit: usize,
    /// True if the client offered the server's subprotocol.
    pub(super) has_protocol: bool,
    /// Memory of an unfinished message, and of a buffer that is larger than needed.
    share: Share,
    /// Number of bytes read since the last complete message, except those of control frames.
    unfinished: usize,
    /// Maximum number of bytes that the library has read and not returned.
    ahead: usize,
    /// Maximum size of the library's buffer, in bytes.
    buffer: usize,
    /// Timeout of the unfinished message.
    timeout: Option<Pin<Box<Sleep>>>,
}

/// The stream below a WebSocket, which counts the bytes that are read.
struct Counting {
    stream: TokioIo<Upgraded>,
    read: usize,
}

/// The reason why no message can be received.
pub(super) enum ReceiveError {
    /// A message exceeds the size limit.
    TooLarge,
    /// A message has not arrived in time.
    TooSlow,
    /// Unfinished messages, and other requests, take too much memory.
    Full(Full),
    /// The connection is broken or closed.
    Gone,
}

/// Returns true if a request asks for an upgrade to a WebSocket.
pub(super) fn is_requested(method: &Method, headers: &HeaderMap) -> bool {
    method == Method::GET && has_word(headers, &header::UPGRADE, "websocket")
}

/// Returns true if a header's list contains a word, ignoring case.
fn has_word(headers: &HeaderMap, name: &HeaderName, word: &str) -> bool {
    list::elements(headers, name).any(|other| other.eq_ignore_ascii_case(word))
}

/// Returns true if a `Sec-WebSocket-Key` is a base64-encoded nonce of 16 bytes.
fn is_nonce(key: &HeaderValue) -> bool {
    STANDARD.decode(key).is_ok_and(|nonce| nonce.len() == 16)
}

impl Handshake {
    /// Validates the head of an upgrade request. `protocol` is the server's subprotocol.
    pub(super) fn read(head: &mut Parts, protocol: &'static str) -> Result<Self, Failure> {
        let reject = |status, message: &str| Err(Failure::new(status, Code::BadRequest, message));
        if !has_word(&head.headers, &header::CONNECTION, "upgrade") {
            return reject(StatusCode::BAD_REQUEST, "The header Connection must name Upgrade.");
        }
        if !has_word(&head.headers, &header::SEC_WEBSOCKET_VERSION, "13") {
            return reject(StatusCode::UPGRADE_REQUIRED, "The header Sec-WebSocket-Version must be 13.");
        }
        let Some(key) = head.headers.get(header::SEC_WEBSOCKET_KEY).filter(|key| is_nonce(key)) else {
            let message = "The header Sec-WebSocket-Key must be 16 bytes in base64.";
            return reject(StatusCode::BAD_REQUEST, message);
        };
        let Some(on_upgrade) = head.extensions.remove::<OnUpgrade>() else {
            return reject(StatusCode::BAD_REQUEST, "The connection cannot become a WebSocket.");
        };
        let is_offered =
            list::elements(&head.headers, &header::SEC_WEBSOCKET_PROTOCOL).any(|one| one == protocol);
        let protocol = is_offered.then_some(protocol);
        Ok(Self { accept_key: derive_accept_key(key.as_bytes()), on_upgrade, protocol })
    }

    /// Accepts the WebSocket, and spawns the task that runs `converse` once the WebSocket is open. `limit` is the
    /// maximum size of a client message, in bytes, and `share` the memory of unfinished ones.
    pub(super) fn accept<F>(
        self,
        limit: usize,
        share: Share,
        converse: impl FnOnce(WebSocket) -> F + Send + 'static,
    ) -> Response
    where
        F: Future<Output = ()> + Send + 'static,
    {
        let Self { accept_key, on_upgrade, protocol } = self;
        let has_protocol = protocol.is_some();
        tokio::spawn(async move {
            // An error means that the connection broke during the handshake.
            let Ok(upgraded) = on_upgrade.await else { return };
            let stream = Counting { stream: TokioIo::new(upgraded), read: 0 };
            let socket = WebSocket {
                stream: open(stream, limit),
                limit,
                has_protocol,
                share,
                unfinished: 0,
                ahead: 0,
                buffer: 0,
                timeout: None,
            };
            converse(socket).await;
        });
        let mut response = Response::new(Body::empty());
        *response.status_mut() = StatusCode::SWITCHING_PROTOCOLS;
        let headers = response.headers_mut();
        headers.insert(header::CONNECTION, HeaderValue::from_static("upgrade"));
        headers.insert(header::UPGRADE, HeaderValue::from_static("websocket"));
        if let Ok(accept_key) = HeaderValue::from_str(&accept_key) {
            headers.insert(header::SEC_WEBSOCKET_ACCEPT, accept_key);
        }
        if let Some(protocol) = protocol {
            headers.insert(header::SEC_WEBSOCKET_PROTOCOL, HeaderValue::from_static(protocol));
        }
        response
    }
}

impl WebSocket {
    /// Receives the next message. Nothing is lost if the future is dropped before.
    pub(super) async fn receive(&mut self) -> Result<Message, ReceiveError> {
        std::future::poll_fn(|context| self.poll_receive(context)).await
    }

    fn poll_receive(&mut self, context: &mut Context<'_>) -> Poll<Result<Message, ReceiveError>> {
        let Some(stream) = &mut self.stream else { return Poll::Ready(Err(ReceiveError::Gone)) };
        let polled = stream.poll_next_unpin(context);
        let read = std::mem::take(&mut stream.get_mut().read);
        self.unfinished += read;
        self.ahead += read;
        match polled {
            Poll::Ready(Some(Ok(message))) => Poll::Ready(self.complete(&message).map(|()| message)),
            Poll::Ready(Some(Err(WebSocketError::Capacity(CapacityError::MessageTooLong { .. })))) => {
                Poll::Ready(Err(ReceiveError::TooLarge))
            }
            Poll::Ready(Some(Err(_)) | None) => Poll::Ready(Err(ReceiveError::Gone)),
            Poll::Pending => self.poll_timeout(context).map(Err),
        }
    }

    /// Counts a message that has arrived.
    fn complete(&mut self, message: &Message) -> Result<(), ReceiveError> {
        let size = frame_size(message.len());
        self.ahead = self.ahead.saturating_sub(size);
        if !message.is_text() && !message.is_binary() {
            // Control frames may arrive between the frames of a message.
            self.unfinished = self.unfinished.saturating_sub(size);
            return Ok(());
        }
        (self.unfinished, self.timeout) = (0, None);
        self.buffer = self.buffer.max(size);
        if self.buffer > FREE && self.ahead == 0 {
            self.renew();
        }
        // The caller has the message until it receives the next.
        self.share.resize(self.buffer.max(size)).map_err(ReceiveError::Full)
    }

    /// Replaces the library's state, whose buffer is empty. All messages have been sent: they are flushed one by one.
    fn renew(&mut self) {
        let stream = self.stream.take().map(WebSocketStream::into_inner);
        self.stream = stream.and_then(|stream| open(stream, self.limit));
        self.buffer = 0;
    }

    /// Returns an error once the unfinished message is too slow or takes too much memory.
    fn poll_timeout(&mut self, context: &mut Context<'_>) -> Poll<ReceiveError> {
        // Frames of a message may be empty, and their number is not limited.
        if self.unfinished > self.limit.saturating_mul(2).saturating_add(BUFFER) {
            return Poll::Ready(ReceiveError::TooLarge);
        }
        if let Err(full) = self.share.resize(self.buffer.max(self.unfinished)) {
            return Poll::Ready(ReceiveError::Full(full));
        }
        if self.unfinished == 0 {
            self.timeout = None;
            return Poll::Pending;
        }
        let timeout = self.timeout.get_or_insert_with(|| Box::pin(sleep(TIMEOUT)));
        ready!(timeout.as_mut().poll(context));
        Poll::Ready(ReceiveError::TooSlow)
    }

    /// Sends a message as one frame.
    pub(super) async fn send(&mut self, message: Message) -> Result<(), WebSocketError> {
        let stream = self.stream.as_mut().ok_or(WebSocketError::ConnectionClosed)?;
        stream.send(message).await
    }

    /// Sends a string in frames of limited size, and yields between frames.
    pub(super) async fn send_text(&mut self, text: String) -> Result<(), WebSocketError> {
        if text.len() <= FRAME {
            return self.send(Message::text(text)).await;
        }
        let mut rest = Bytes::from(text);
        let mut kind = Data::Text;
        loop {
            let part = rest.split_to(rest.len().min(FRAME));
            let frame = Frame::message(part, OpCode::Data(kind), rest.is_empty());
            self.send(Message::Frame(frame)).await?;
            if rest.is_empty() {
                return Ok(());
            }
            kind = Data::Continue;
            tokio::task::yield_now().await;
        }
    }

    /// Sends buffered frames, such as a pong.
    pub(super) async fn flush(&mut self) -> Result<(), WebSocketError> {
        let stream = self.stream.as_mut().ok_or(WebSocketError::ConnectionClosed)?;
        stream.flush().await
    }
}

/// Opens a WebSocket over an upgraded connection, which takes no I/O.
fn open(stream: Counting, limit: usize) -> Option<WebSocketStream<Counting>> {
    let config = WebSocketConfig::default()
        .max_message_size(Some(limit))
        .max_frame_size(Some(limit))
        .read_buffer_size(BUFFER)
        .write_buffer_size(BUFFER);
    WebSocketStream::from_raw_socket(stream, Role::Server, Some(config)).now_or_never()
}

/// Returns the minimum size of the frame of a message from a client, in bytes (RFC 6455, section 5.2).
fn frame_size(payload: usize) -> usize {
    /// Size of the first two bytes and of the mask.
    const HEADER: usize = 6;
    let length = match payload {
        0..=125 => 0,
        126..=65_535 => 2,
        _ => 8,
    };
    HEADER + length + payload
}

impl AsyncRead for Counting {
    fn poll_read(
        self: Pin<&mut Self>,
        context: &mut Context<'_>,
        buffer: &mut ReadBuf<'_>,
    ) -> Poll<IoResult<()>> {
        let this = self.get_mut();
        let before = buffer.filled().len();
        let polled = Pin::new(&mut this.stream).poll_read(context, buffer);
        this.read += buffer.filled().len() - before;
        polled
    }
}

impl AsyncWrite for Counting {
    fn poll_write(self: Pin<&mut Self>, context: &mut Context<'_>, bytes: &[u8]) -> Poll<IoResult<usize>> {
        Pin::new(&mut self.get_mut().stream).poll_write(context, bytes)
    }

    fn poll_flush(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        Pin::new(&mut self.get_mut().stream).poll_flush(context)
    }

    fn poll_shutdown(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<IoResult<()>> {
        Pin::new(&mut self.get_mut().stream).poll_shutdown(context)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn frames_of_clients_have_a_mask_and_a_length_of_three_sizes() {
        let sizes = [0, 125, 126, 65_535, 65_536].map(frame_size);
        assert_eq!(sizes, [6, 131, 134, 65_543, 65_550]);
    }
}
