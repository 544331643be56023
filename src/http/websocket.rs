//! The WebSocket transport: the handshake, and messages in frames of limited size (RFC 6455).
//!
//! # Why frames
//! The library copies a whole frame before it sends the first byte. As a single frame, a message would take twice its
//! size in memory until a slow client has read it, and a message of megabytes would block a worker thread for
//! milliseconds.
//!
//! Not here: the subprotocol (`http::socket`).

use axum::body::Body;
use axum::http::request::Parts;
use axum::http::{HeaderMap, HeaderName, HeaderValue, Method, StatusCode, header};
use axum::response::Response;
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use futures::{SinkExt as _, StreamExt as _};
use hyper::upgrade::{OnUpgrade, Upgraded};
use hyper_util::rt::TokioIo;
use tokio_tungstenite::WebSocketStream;
use tokio_tungstenite::tungstenite::Bytes;
pub(super) use tokio_tungstenite::tungstenite::Error as WebSocketError;
use tokio_tungstenite::tungstenite::error::CapacityError;
use tokio_tungstenite::tungstenite::handshake::derive_accept_key;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};
pub(super) use tokio_tungstenite::tungstenite::protocol::{CloseFrame, Message};
use tokio_tungstenite::tungstenite::protocol::{Role, WebSocketConfig};

use crate::graphql::error::Code;
use crate::http::list;
use crate::http::response::Failure;

/// Size of the read buffer and of the write buffer, in bytes. Both are small, since there may be thousands of
/// WebSockets, most of them idle.
const BUFFER: usize = 4_096;
/// Maximum payload of an outgoing frame, in bytes.
const FRAME: usize = 65_536;

/// A valid upgrade request.
pub(super) struct Handshake {
    accept_key: String,
    on_upgrade: OnUpgrade,
    /// The server's subprotocol, if the client offers it.
    protocol: Option<&'static str>,
}

/// An open WebSocket.
pub(super) struct WebSocket {
    stream: WebSocketStream<TokioIo<Upgraded>>,
    /// True if the client offered the server's subprotocol.
    pub(super) has_protocol: bool,
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
    /// maximum size of a client message, in bytes.
    pub(super) fn accept<F>(
        self,
        limit: usize,
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
            let config = WebSocketConfig::default()
                .max_message_size(Some(limit))
                .max_frame_size(Some(limit))
                .read_buffer_size(BUFFER)
                .write_buffer_size(BUFFER);
            let opening =
                WebSocketStream::from_raw_socket(TokioIo::new(upgraded), Role::Server, Some(config));
            converse(WebSocket { stream: opening.await, has_protocol }).await;
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
    /// Receives the next message; `None` once the connection is closed.
    pub(super) async fn receive(&mut self) -> Option<Result<Message, WebSocketError>> {
        self.stream.next().await
    }

    /// Sends a message as one frame.
    pub(super) async fn send(&mut self, message: Message) -> Result<(), WebSocketError> {
        self.stream.send(message).await
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
        self.stream.flush().await
    }
}

/// Returns true if a message exceeded the size limit.
pub(super) fn is_too_large(error: &WebSocketError) -> bool {
    matches!(error, WebSocketError::Capacity(CapacityError::MessageTooLong { .. }))
}
