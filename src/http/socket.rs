//! Serves WebSockets: many operations over one connection, per the `graphql-transport-ws` protocol.
//!
//! A WebSocket has one task that reads and writes, and one task for each running operation. Results wait in a short
//! queue, so an operation runs no faster than its client reads. The server disconnects a client that reads nothing
//! within the write timeout.

use std::collections::HashMap;
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::sync::Arc;
use std::time::Duration;

use axum::extract::Request;
use axum::http::Method;
use axum::response::Response;
use futures::FutureExt as _;
use futures::future::BoxFuture;
use serde_json::{Map, Value, json};
use tokio::sync::mpsc::{self, Receiver, Sender};
use tokio::sync::oneshot;
use tokio::time::{Instant, timeout};
use tracing::Instrument as _;

use crate::app::error::{Error, Rejection};
use crate::app::viewer::Viewer;
use crate::graphql::Plan;
use crate::graphql::error::{Code, RequestError};
use crate::graphql::pace::Room;
use crate::http::accept::MediaType;
use crate::http::connection::turns_true;
use crate::http::fair::fairly;
use crate::http::inbound::TIMEOUT;
use crate::http::memory::Full;
use crate::http::operation::{
    ClientChannel, Credentials, MessageKind, OperationMessage, Running, SocketOperation,
};
use crate::http::request::{self, RequestId};
use crate::http::response::Failure;
use crate::http::seat::Seat;
use crate::http::trace::Remote;
use crate::http::websocket::{
    CloseFrame, Handshake, Message, ReceiveError, Utf8Bytes, WebSocket, WebSocketError,
};
use crate::http::{Server, address, auth, origin, print, trace};
use crate::model::address::Address;

/// The WebSocket subprotocol.
const PROTOCOL: &str = "graphql-transport-ws";

/// Maximum length of a close frame's reason, in bytes, per RFC 6455.
const LONGEST_REASON: usize = 123;

/// Reasons for closing that say what is wrong with a token.
const MISPLACED: &str = "The token belongs in the payload as { \"Authorization\": \"Bearer <token>\" }";
const INVALID: &str = "The token is invalid, or its session has ended";
const MALFORMED: &str = "Authorization must have the form `Bearer <token>`";

/// Time within which the client must send a valid `connection_init`.
const INIT_TIMEOUT: Duration = Duration::from_secs(3);
/// Timeout of writing a message.
const WRITE_TIMEOUT: Duration = Duration::from_secs(10);
/// Interval between the server's pings.
const PING_INTERVAL: Duration = Duration::from_secs(25);
/// Time without any message or pong after which the client counts as disconnected.
const IDLE_TIMEOUT: Duration = Duration::from_mins(1);
/// Time within which running operations must finish when the server closes the WebSocket.
const FINISH_TIMEOUT: Duration = Duration::from_secs(5);
/// Time within which the client must close the connection after a close frame.
const CLOSE_TIMEOUT: Duration = Duration::from_secs(2);
/// Maximum number of running operations, not counting subscriptions.
const MOST_OPERATIONS: usize = 100;
/// Maximum number of operations and subscription events that are being executed or waiting to be sent. A large
/// operation counts as several.
const MOST_AT_WORK: u32 = 8;
/// Maximum memory that all running operations together occupy, in bytes: less than twice the maximum of one operation.
const MOST_BYTES: usize = 2 << 20;
/// Maximum length of an operation id, in bytes.
const LONGEST_ID: usize = 512;
/// Capacity of the queue of results, in messages.
const MOST_WAITING: usize = 1;

/// Close codes of RFC 6455.
const AWAY: u16 = 1001;
const TOO_LARGE: u16 = 1009;
const TRY_AGAIN: u16 = 1013;

/// A close frame's code and reason, per the subprotocol and RFC 6455.
#[derive(Clone, Debug)]
struct Close(u16, String);

impl Close {
    fn because(code: u16, reason: impl Into<String>) -> Self {
        Self(code, reason.into())
    }

    fn invalid(what: &str) -> Self {
        Self::because(4400, what)
    }

    /// Creates the close frame of a client whose token is rejected, which names the rule that the token violates.
    fn forbidden(rejection: &Rejection, otherwise: &str) -> Self {
        match rejection {
            Rejection::BadJwt(fault) => Self::because(4403, fault.to_string()),
            _ => Self::because(4403, otherwise),
        }
    }

    fn frame(self) -> Message {
        let Self(code, mut reason) = self;
        reason.truncate(reason.floor_char_boundary(LONGEST_REASON));
        Message::Close(Some(CloseFrame { code: code.into(), reason: reason.into() }))
    }
}

/// The reason why a conversation ends.
enum End {
    Close(Close),
    /// The client disconnected or stopped responding.
    Gone,
}

impl From<Close> for End {
    fn from(close: Close) -> Self {
        Self::Close(close)
    }
}

/// Accepts a WebSocket if a seat is free.
pub(super) fn accept(server: &Arc<Server>, request: Request, id: RequestId) -> Response {
    if let Err(failure) = origin::judge(request.headers(), &server.config) {
        return failure.into_response(MediaType::Json);
    }
    let from = Remote::of(&request, &server.config);
    let (mut head, _) = request.into_parts();
    let handshake = match Handshake::read(&mut head, PROTOCOL) {
        Ok(handshake) => handshake,
        Err(failure) => return failure.into_response(MediaType::Json),
    };
    let address = address::of(&head.headers, &head.extensions, &server.config.http_trusted_proxies);
    let (seat, leave) = match server.seats.enter(address) {
        Ok(entered) => entered,
        Err(full) => return full.into_failure().into_response(MediaType::Json),
    };
    let limit = usize::try_from(server.config.http_body_limit).unwrap_or(usize::MAX);
    let under_way = server.tasks.token();
    let (messages, outgoing) = mpsc::channel(MOST_WAITING);
    // Copied: a header refers to the buffer of the whole head.
    let presented = auth::token(&head.headers).map(|token| token.map(str::to_owned));
    let unfinished = server.memory.share(address);
    let server = Arc::clone(server);
    let converse = async move |socket| {
        let conversation = Conversation {
            server,
            socket,
            id,
            from,
            presented: Some(presented),
            address,
            seat: Some(seat),
            leave,
            is_initialised: false,
            credentials: None,
            session_end: std::future::pending().boxed(),
            running: HashMap::new(),
            started: 0,
            room: Room::new(MOST_AT_WORK),
            messages,
        };
        conversation.run(outgoing).await;
        drop(under_way);
    };
    handshake.accept(limit, unfinished, move |socket| fairly(address, converse(socket)))
}

/// The conversation over one WebSocket.
struct Conversation {
    server: Arc<Server>,
    socket: WebSocket,
    id: RequestId,
    /// The span in which the client opened the WebSocket.
    from: Remote,
    /// The token of the upgrade request; `None` once it has been used.
    presented: Option<Result<Option<String>, Failure>>,
    address: Option<Address>,
    /// The client's seat; `None` once the WebSocket is being closed.
    seat: Option<Seat>,
    /// A receiver that fails if another guest displaces this client before this client is authenticated.
    leave: oneshot::Receiver<()>,
    /// True once the client has sent `connection_init`.
    is_initialised: bool,
    /// The client's credentials; `None` until the server has verified them.
    credentials: Option<Credentials>,
    session_end: BoxFuture<'static, Rejection>,
    running: HashMap<Arc<str>, Running>,
    /// Number of operations started so far, from which the next operation gets its number.
    started: u64,
    room: Room,
    messages: Sender<OperationMessage>,
}

impl Conversation {
    async fn run(mut self, mut outgoing: Receiver<OperationMessage>) {
        let end = if self.socket.has_protocol {
            self.converse(&mut outgoing).await
        } else {
            Close::because(4406, "Subprotocol not acceptable").into()
        };
        self.running.clear();
        self.seat = None;
        let End::Close(close) = end else { return };
        let closing = async {
            self.socket.send(close.frame()).await?;
            // The client closes the connection after the closing handshake.
            while self.socket.receive().await.is_ok() {}
            Ok::<(), WebSocketError>(())
        };
        drop(timeout(CLOSE_TIMEOUT, closing).await);
    }

    async fn converse(&mut self, outgoing: &mut Receiver<OperationMessage>) -> End {
        let began = Instant::now();
        let mut last_received = began;
        let mut pings = tokio::time::interval_at(began + PING_INTERVAL, PING_INTERVAL);
        let mut stopping = std::pin::pin!(turns_true(self.server.stopping.clone()));
        loop {
            // Yields after each message, so that a client that sends without a pause does not delay other clients.
            tokio::task::yield_now().await;
            let done = tokio::select! {
                () = &mut stopping => {
                    return self.finish(outgoing, Close::because(AWAY, "Going away")).await;
                }
                rejection = &mut self.session_end => {
                    return self.finish(outgoing, Close::forbidden(&rejection, "The session has ended")).await;
                }
                () = tokio::time::sleep_until(began + INIT_TIMEOUT), if self.credentials.is_none() => {
                    Err(Close::because(4408, "Connection initialisation timeout").into())
                }
                _ = &mut self.leave, if self.credentials.is_none() => {
                    Err(Close::because(4408, "Others are waiting to connect").into())
                }
                _ = pings.tick() => {
                    if last_received.elapsed() > IDLE_TIMEOUT { Err(End::Gone) } else { self.ping().await }
                }
                message = self.socket.receive() => {
                    last_received = Instant::now();
                    self.receive(message).await
                }
                Some(message) = outgoing.recv() => self.pass_on(message).await,
            };
            if let Err(end) = done {
                return end;
            }
        }
    }

    /// Ends all subscriptions and sends the results of all other operations. Starts no new operation.
    async fn finish(&mut self, outgoing: &mut Receiver<OperationMessage>, close: Close) -> End {
        self.running.retain(|_, running| !running.watches);
        let finishing = async {
            while !self.running.is_empty() {
                let Some(message) = outgoing.recv().await else { break };
                self.pass_on(message).await?;
            }
            Ok(())
        };
        match timeout(FINISH_TIMEOUT, finishing).await {
            Ok(Err(end)) => end,
            Ok(Ok(())) | Err(_) => close.into(),
        }
    }

    async fn receive(&mut self, message: Result<Message, ReceiveError>) -> Result<(), End> {
        match message {
            Ok(Message::Text(text)) => self.handle(text).await,
            Ok(Message::Binary(_)) => Err(Close::invalid("Messages must be text").into()),
            // The library has queued a pong, which must be sent before another ping is read.
            Ok(Message::Ping(_)) => in_time(self.socket.flush()).await,
            // The library never returns raw frames.
            Ok(Message::Pong(_) | Message::Frame(_)) => Ok(()),
            Err(ReceiveError::TooLarge) => Err(Close::because(TOO_LARGE, "The message is too large").into()),
            Err(ReceiveError::TooSlow) => {
                let seconds = TIMEOUT.as_secs();
                Err(Close::because(4408, format!("The message did not arrive within {seconds} seconds"))
                    .into())
            }
            Err(ReceiveError::Full(full)) => Err(Close::because(TRY_AGAIN, full.message()).into()),
            Ok(Message::Close(_)) => {
                // The library has queued the reply to the close frame.
                drop(timeout(CLOSE_TIMEOUT, self.socket.flush()).await);
                Err(End::Gone)
            }
            Err(ReceiveError::Gone) => Err(End::Gone),
        }
    }

    async fn handle(&mut self, text: Utf8Bytes) -> Result<(), End> {
        match self.read(text).await? {
            ClientMessage::Initialise(authorization) => self.initialise(authorization).await,
            ClientMessage::Ping => self.send(json!({ "type": "pong" })).await,
            ClientMessage::Pong => Ok(()),
            ClientMessage::Subscribe(id, plan) => self.start(id, plan).await,
            ClientMessage::Complete(id) => {
                self.running.remove(&*id);
                Ok(())
            }
        }
    }

    /// Parses a message, and plans the operation in it. A large message occupies memory while it waits for its turn.
    async fn read(&mut self, text: Utf8Bytes) -> Result<ClientMessage, Close> {
        let try_again = |message| Close::because(TRY_AGAIN, message);
        let mut share = self.server.memory.share(self.address);
        let bytes = text.len();
        share.resize(bytes).map_err(|full| try_again(full.message()))?;
        let may_start = match &self.credentials {
            Some(_) => Ok(self.check_room(None)),
            None => Err(Close::because(4401, "Unauthorized")),
        };
        let (server, address, id) = (Arc::clone(&self.server), self.address, self.id.clone());
        let read = move || {
            ClientMessage::read(&text, |payload| {
                let room = may_start?;
                let incoming = request::take_apart(payload).map_err(Failure::into_error);
                // A panic ends this operation and no other.
                let plan = |incoming| {
                    let planned = catch_unwind(AssertUnwindSafe(|| server.plan_one(incoming, address)));
                    planned.unwrap_or_else(|_panic| Err(RequestError::internal(id.as_str())))
                };
                Ok(room.and(incoming).and_then(plan))
            })
        };
        let read = self.server.api.plan_in_turn(bytes, self.address, read).await;
        read.map_err(|_waited| try_again("This address has too many large messages in progress."))?
    }

    /// Authenticates the client by the value in the payload, or by the token of the upgrade request.
    async fn initialise(&mut self, authorization: Option<Value>) -> Result<(), End> {
        if std::mem::replace(&mut self.is_initialised, true) {
            return Err(Close::because(4429, "Too many initialisation requests").into());
        }
        let malformed = || Close::because(4403, MALFORMED);
        let presented = self.presented.take();
        let token = match authorization {
            Some(value) => {
                let value = value.as_str().and_then(auth::bearer);
                Some(value.ok_or_else(malformed)?.to_owned())
            }
            None => presented.transpose().map_err(|_| malformed())?.flatten(),
        };
        let app = self.server.api.app().clone();
        let viewer = match token.as_deref() {
            Some(token) => app.authenticate(token).await,
            None => Ok(Viewer::Anonymous),
        };
        let viewer = viewer.map_err(|error| match error {
            Error::Broken(_) | Error::Rejected(Rejection::Busy { .. }) => {
                Close::because(TRY_AGAIN, "Try again later")
            }
            Error::Rejected(rejection) => Close::forbidden(&rejection, INVALID),
            Error::Invalid(_) => malformed(),
        })?;
        let settled = self.seat.as_mut().map_or(Ok(()), |seat| seat.settle(viewer.user()));
        settled.map_err(|full| Close::because(TRY_AGAIN, full.reason()))?;
        self.credentials = Some(Credentials { token });
        self.session_end = async move { app.session_end(&viewer).await }.boxed();
        self.send(json!({ "type": "connection_ack" })).await
    }

    async fn start(&mut self, id: String, planned: Result<Plan, RequestError>) -> Result<(), End> {
        let Some(credentials) = self.credentials.clone() else {
            return Err(Close::because(4401, "Unauthorized").into());
        };
        let id: Arc<str> = id.into();
        if self.running.contains_key(&id) {
            return Err(Close::because(4409, format!("Subscriber for {id} already exists")).into());
        }
        let admit = |plan: Plan| {
            self.check_room(Some(&plan))?;
            // An operation that runs alone on a WebSocket may be free.
            let memory = &self.server.memory;
            let is_first = self.running.is_empty();
            let mut share =
                if is_first { memory.share(self.address) } else { memory.share_of_many(self.address) };
            share.resize(plan.weight()).map_err(Full::into_error)?;
            Ok((plan, share))
        };
        let (plan, share) = match planned.and_then(admit) {
            Ok(admitted) => admitted,
            Err(error) => return self.send_error(&id, &error).await,
        };
        self.started += 1;
        let (number, watches, weight) = (self.started, plan.watches(), plan.weight());
        let operation = SocketOperation {
            api: self.server.api.clone(),
            plan,
            credentials,
            address: self.address,
            room: self.room.clone(),
            share,
            request_id: self.id.numbered(number),
            to: ClientChannel { id: Arc::clone(&id), number, messages: self.messages.clone() },
        };
        let span = trace::name(&operation.request_id);
        let begin = || trace::begin(trace::GRAPHQL, &Method::GET, &self.from, &operation.request_id);
        let trace = span.in_scope(begin);
        let running = fairly(self.address, operation.run().boxed().instrument(trace).instrument(span));
        let task = tokio::spawn(running).abort_handle();
        self.running.insert(id, Running { number, watches, weight, task });
        Ok(())
    }

    /// Rejects an operation that exceeds a limit of the WebSocket. Without a plan, the operation's type is unknown, so
    /// the combined limit of all types applies.
    fn check_room(&self, plan: Option<&Plan>) -> Result<(), RequestError> {
        let most_watches = self.server.config.clients.http_subscriptions_per_socket as usize;
        let all = self.running.len();
        let watching = self.running.values().filter(|running| running.watches).count();
        let (count, most, what) = match plan.map(Plan::watches) {
            None => (all, most_watches + MOST_OPERATIONS, "operations"),
            Some(true) => (watching, most_watches, "subscriptions"),
            Some(false) => (all - watching, MOST_OPERATIONS, "operations"),
        };
        let too_complex = |what| RequestError::new(Code::TooComplex, format!("Limit exceeded: {what}."));
        if count >= most {
            return Err(too_complex(format!("there are {most} {what} on this socket already")));
        }
        let weight = self.running.values().map(|running| running.weight).sum::<usize>();
        if weight + plan.map_or(0, Plan::weight) > MOST_BYTES {
            let what = "the operations of a socket may together occupy";
            return Err(too_complex(format!("{what} {MOST_BYTES} bytes")));
        }
        Ok(())
    }

    /// Sends an operation's message to the client, unless the operation has ended in the meantime.
    async fn pass_on(&mut self, OperationMessage { id, number, kind }: OperationMessage) -> Result<(), End> {
        if self.running.get(&id).is_none_or(|running| running.number != number) {
            return Ok(());
        }
        match kind {
            MessageKind::Next(text, _held) => in_time(self.socket.send_text(text)).await,
            MessageKind::Error(error) => {
                self.running.remove(&id);
                self.send_error(&id, &error).await
            }
            MessageKind::Complete => {
                self.running.remove(&id);
                self.send(json!({ "id": *id, "type": "complete" })).await
            }
        }
    }

    async fn send_error(&mut self, id: &str, error: &RequestError) -> Result<(), End> {
        let errors = print::errors(error);
        let id = Value::String(id.to_owned());
        let text = format!(r#"{{"id":{id},"type":"error","payload":{errors}}}"#);
        in_time(self.socket.send_text(text)).await
    }

    async fn ping(&mut self) -> Result<(), End> {
        in_time(self.socket.send(Message::Ping("".into()))).await
    }

    async fn send(&mut self, message: Value) -> Result<(), End> {
        in_time(self.socket.send_text(message.to_string())).await
    }
}

/// A message of the client.
#[expect(clippy::large_enum_variant, reason = "it is moved once, and most messages have an operation")]
enum ClientMessage {
    /// `connection_init`, with the value of `authorization` in its payload.
    Initialise(Option<Value>),
    Ping,
    Pong,
    /// `subscribe`, with the operation's id and plan.
    Subscribe(String, Result<Plan, RequestError>),
    /// `complete`, with the operation's id.
    Complete(String),
}

impl ClientMessage {
    /// Parses a message. `plan` plans the operation in a payload. Parsed, a message takes many times its size, so only
    /// what the server needs of it is returned.
    fn read(
        text: &str,
        plan: impl FnOnce(Map<String, Value>) -> Result<Result<Plan, RequestError>, Close>,
    ) -> Result<Self, Close> {
        let Ok(Value::Object(mut message)) = serde_json::from_str(text) else {
            return Err(Close::invalid("The message is not a JSON object"));
        };
        let kind = message.remove("type");
        let payload = match message.remove("payload") {
            None | Some(Value::Null) => Ok(None),
            Some(Value::Object(payload)) => Ok(Some(payload)),
            Some(_) => Err(Close::invalid("The payload must be an object")),
        };
        match kind.as_ref().and_then(Value::as_str) {
            Some("connection_init") => {
                Ok(Self::Initialise(payload?.map(authorization).transpose()?.flatten()))
            }
            Some("ping") => payload.map(|_| Self::Ping),
            Some("pong") => payload.map(|_| Self::Pong),
            Some("subscribe") => {
                let payload = payload?.ok_or_else(|| Close::invalid("The payload must be an object"))?;
                let id = operation_id(message)?;
                Ok(Self::Subscribe(id, plan(payload)?))
            }
            Some("complete") => operation_id(message).map(Self::Complete),
            _ => Err(Close::invalid("Unknown message type")),
        }
    }
}

/// Returns the client's credentials in the payload of `connection_init`. Fails if there are none where they belong, but
/// there seem to be some elsewhere: otherwise the client would be anonymous without a word.
fn authorization(payload: Map<String, Value>) -> Result<Option<Value>, Close> {
    if let Some(name) = payload.iter().find_map(|(name, value)| is_authorization(name, value).then_some(name))
    {
        let name = name.clone();
        return Ok(payload.into_iter().find(|(other, _)| *other == name).map(|(_, value)| value));
    }
    let is_misplaced = |(name, value): (&String, &Value)| match value {
        Value::Object(inner) => {
            inner.iter().any(|(name, value)| is_authorization(name, value) || is_token(name, value))
        }
        value => is_token(name, value),
    };
    if payload.iter().any(is_misplaced) { Err(Close::invalid(MISPLACED)) } else { Ok(None) }
}

/// Returns true for the field of a payload that has the client's credentials.
fn is_authorization(name: &str, value: &Value) -> bool {
    // Some clients send an empty value if they have no credentials.
    name.eq_ignore_ascii_case("authorization") && !value.is_null() && value != ""
}

/// Returns true for a field that seems to be a token, by the last word of its name.
fn is_token(name: &str, value: &Value) -> bool {
    let name = name.to_ascii_lowercase();
    let is_named_so =
        ["token", "jwt", "bearer", "apikey", "api_key", "api-key"].iter().any(|word| name.ends_with(word));
    is_named_so && value.as_str().is_some_and(|value| !value.is_empty())
}

/// Waits for a write to complete, up to the write timeout.
async fn in_time(writing: impl Future<Output = Result<(), WebSocketError>>) -> Result<(), End> {
    match timeout(WRITE_TIMEOUT, writing).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(_)) => Err(End::Gone),
        // The client may resume reading, so the close frame has a reason.
        Err(_elapsed) => Err(Close::because(4410, "Messages are read too slowly").into()),
    }
}

fn operation_id(mut message: Map<String, Value>) -> Result<String, Close> {
    match message.remove("id") {
        Some(Value::String(id)) if id.len() > LONGEST_ID => {
            Err(Close::because(4400, format!("The id has more than {LONGEST_ID} bytes")))
        }
        Some(Value::String(id)) if !id.is_empty() => Ok(id),
        _ => Err(Close::invalid("The message must have an id, a non-empty string")),
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::app::error::JwtFault;

    #[test]
    fn a_token_in_a_wrong_place_is_named() {
        let read = |payload: Value| {
            let Value::Object(payload) = payload else { panic!("{payload}") };
            authorization(payload).map_err(|Close(code, reason)| (code, reason))
        };
        for name in ["Authorization", "authorization", "AUTHORIZATION"] {
            assert_eq!(
                read(json!({ "token": "x", name: "Bearer x" })),
                Ok(Some(json!("Bearer x"))),
                "{name}"
            );
        }
        for payload in [
            json!({}),
            json!({ "Authorization": "" }),
            json!({ "authorization": null, "token": "" }),
            json!({ "client": "web", "headers": { "x-request-id": "1" }, "tokens": 3 }),
        ] {
            assert_eq!(read(payload.clone()), Ok(None), "{payload}");
        }
        for payload in [
            json!({ "token": "x" }),
            json!({ "authToken": "x" }),
            json!({ "access_token": "x", "Authorization": "" }),
            json!({ "headers": { "Authorization": "Bearer x" } }),
            json!({ "context": { "jwt": "x" } }),
        ] {
            assert_eq!(read(payload.clone()), Err((4400, MISPLACED.to_owned())), "{payload}");
        }
    }

    #[test]
    fn no_reason_is_cut() {
        let rejections = [Rejection::BadToken, Rejection::BadJwt(JwtFault::NoAccount)];
        let rejected = rejections.map(|rejection| Close::forbidden(&rejection, INVALID).1);
        for reason in [MISPLACED, MALFORMED].map(str::to_owned).into_iter().chain(rejected) {
            assert!(reason.len() <= LONGEST_REASON, "{reason}");
        }
    }
}
