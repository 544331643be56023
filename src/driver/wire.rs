//! A connection to a Redis server, shared by all callers.
//!
//! Callers hand over pipelines, already encoded. A task of the connection writes them in order, as many at once as
//! there are, and gives each caller the replies to its pipeline, undecoded.
//!
//! # Why not the connection of the `redis` crate
//! That connection turns every reply into a tree of values and takes pipelines as lists of commands, each of them
//! allocated on its own. For a page of users this takes longer than everything else that the server does with the page.
//! This connection copies a pipeline's replies once, and the domain modules read them where they are. Addresses,
//! encoding of arguments, error types and pub/sub are still those of the `redis` crate.
//!
//! # When a caller gives up
//! A caller may be dropped at any time. Its pipeline may or may not have been sent; its replies are read and discarded.
//!
//! # When the connection breaks
//! All waiting callers fail, and so do all later ones: a connection never recovers. A malformed reply breaks it too,
//! since no later reply could be attributed.
//!
//! A server that refuses a client, because it has too many, or because it is in protected mode, sends an error before
//! it closes the connection. The callers' error then has that message.
//!
//! # When Redis pushes messages
//! A connection with a [`Listener`] speaks RESP3, in which Redis sends messages that no caller asked for. The listener
//! receives them in order with the replies. Once a second, such a connection sends a PING. While the reply is overdue,
//! the listener is paused, since messages may be missing.
//!
//! Not here: replacing broken connections and retrying (`driver::pool`).

use std::collections::VecDeque;
use std::io;
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bytes::{Buf as _, Bytes, BytesMut};
use futures::future::select_ok;
use redis::io::tcp::socket2::{SockRef, TcpKeepalive};
use redis::{ConnectionAddr, ConnectionInfo, ErrorKind, Pipeline, RedisError, Value};
use rustls::pki_types::ServerName;
use rustls::{ClientConfig, RootCertStore};
use tokio::io::{AsyncRead, AsyncReadExt as _, AsyncWrite, AsyncWriteExt as _};
use tokio::net::{TcpStream, UnixStream, lookup_host};
use tokio::sync::{mpsc, oneshot};
use tokio::time::{MissedTickBehavior, interval, timeout};
use tokio_rustls::TlsConnector;

use crate::driver::reply::{Replies, Reply, Scanner};

/// Timeout for a pipeline's replies.
const RESPONSE_TIMEOUT: Duration = Duration::from_secs(10);
/// Number of pipelines that wait to be written before callers have to wait.
const MOST_WAITING: usize = 256;
/// Number of bytes to be written above which no further pipeline is accepted.
const MOST_UNWRITTEN: usize = 1 << 20;
/// Timeout for reading what was sent before the connection broke.
const REST: Duration = Duration::from_millis(100);
/// Number of bytes to read at once.
const READ: usize = 32 << 10;
/// Capacity of the input buffer above which it is given up once it is empty.
const LARGE: usize = 1 << 20;
/// Maximum number of bytes of an unexpected reply that an error shows.
const MOST_SHOWN: usize = 100;
/// Interval of the checks of a connection with a listener.
const CHECK: Duration = Duration::from_secs(1);
const PING: &[u8] = b"*1\r\n$4\r\nPING\r\n";
/// Idle time after which keepalive probes begin. They detect the dead peer of an idle connection.
pub(super) const KEEPALIVE: Duration = Duration::from_secs(30);

/// Receives the messages that Redis pushes over a connection. Dropped as soon as the connection breaks, before any
/// caller fails.
pub(crate) trait Listener: Send + 'static {
    /// Returns true if Redis is to push a message when a key that was read over the connection changes.
    fn is_tracking(&self) -> bool;

    /// Handles a message.
    fn receive(&mut self, message: Reply<'_>);

    /// Called when messages may be missing.
    fn pause(&mut self);

    /// Called when all messages up to now have been received.
    fn resume(&mut self);
}

/// A connection. Clones share it; it is closed once all clones are dropped and all replies have been read.
#[derive(Clone)]
pub(super) struct Connection {
    pipelines: mpsc::Sender<Sent>,
    refusal: Refusal,
}

/// The message with which the server refused the client, once it has.
type Refusal = Arc<OnceLock<String>>;

/// A pipeline to write, and the caller that waits for its replies.
struct Sent {
    bytes: Bytes,
    caller: Caller,
}

/// A caller that waits for the replies to its pipeline.
struct Caller {
    /// Number of replies.
    count: usize,
    /// The caller's end; `None` for the connection's own PING.
    answer: Option<oneshot::Sender<Result<Replies, RedisError>>>,
}

impl Caller {
    /// Returns true unless the caller has given up. The connection's own PING has no caller.
    fn waits(&self) -> bool {
        self.answer.as_ref().is_some_and(|answer| !answer.is_closed())
    }

    fn answer(self, answer: Result<Replies, RedisError>) {
        if let Some(caller) = self.answer {
            // The caller may have given up.
            drop(caller.send(answer));
        }
    }
}

impl Connection {
    /// Connects, authenticates and selects the database. With a listener, has Redis push messages. Sets no time limit.
    pub(super) async fn open(
        info: &ConnectionInfo,
        listener: Option<Box<dyn Listener>>,
    ) -> Result<Self, RedisError> {
        let pushes = listener.as_ref().map(|listener| listener.is_tracking());
        let connection = match info.addr() {
            ConnectionAddr::Tcp(host, port) => Self::over(connect(host, *port).await?, listener),
            ConnectionAddr::TcpTls { insecure: true, .. } => {
                return Err((
                    ErrorKind::InvalidClientConfig,
                    "certificates are always verified: remove #insecure",
                )
                    .into());
            }
            ConnectionAddr::TcpTls { host, port, .. } => {
                Self::over(secure(host, connect(host, *port).await?).await?, listener)
            }
            ConnectionAddr::Unix(path) => Self::over(UnixStream::connect(path).await?, listener),
            _ => return Err((ErrorKind::InvalidClientConfig, "unknown kind of address").into()),
        };
        connection.set_up(info, pushes).await?;
        Ok(connection)
    }

    /// Starts the task that serves a connection.
    fn over(
        stream: impl AsyncRead + AsyncWrite + Send + 'static,
        listener: Option<Box<dyn Listener>>,
    ) -> Self {
        let (sender, receiver) = mpsc::channel(MOST_WAITING);
        let refusal = Refusal::default();
        tokio::spawn(serve(stream, receiver, listener, refusal.clone()));
        Self { pipelines: sender, refusal }
    }

    /// Sends the first commands. `pushes` says whether keys are tracked; `None` if there is no listener.
    async fn set_up(&self, info: &ConnectionInfo, pushes: Option<bool>) -> Result<(), RedisError> {
        let redis = info.redis_settings();
        let mut pipeline = redis::pipe();
        if let Some(password) = redis.password() {
            pipeline.cmd("AUTH");
            if let Some(username) = redis.username() {
                pipeline.arg(username);
            }
            pipeline.arg(password);
        }
        if redis.db() != 0 {
            pipeline.cmd("SELECT").arg(redis.db());
        }
        if let Some(is_tracking) = pushes {
            pipeline.cmd("HELLO").arg(3);
            if is_tracking {
                pipeline.cmd("CLIENT").arg("TRACKING").arg("ON");
            }
        }
        let required = pipeline.len();
        // Shown by CLIENT LIST. Redis before 7.2 rejects it.
        pipeline.cmd("CLIENT").arg("SETINFO").arg("LIB-NAME").arg(env!("CARGO_PKG_NAME"));
        // The error of a server that refuses the client must not pass for the reply to the last command.
        pipeline.cmd("PING");
        let replies = self.send(pipeline.get_packed_pipeline().into(), pipeline.len()).await?;
        replies.iter().take(required).try_for_each(|reply| match reply.value()? {
            Value::ServerError(error) => Err(error.into()),
            _ => Ok(()),
        })
    }

    /// Sends a pipeline of few commands, and returns the replies as values.
    pub(super) async fn query(&self, pipeline: &Pipeline) -> Result<Vec<Value>, RedisError> {
        let replies = self.send(pipeline.get_packed_pipeline().into(), pipeline.len()).await?;
        replies.iter().map(Reply::value).collect()
    }

    /// Sends a pipeline that gets `count` replies, and waits for them.
    pub(super) async fn send(&self, bytes: Bytes, count: usize) -> Result<Replies, RedisError> {
        let exchange = async {
            let (answer, answered) = oneshot::channel();
            let sent = Sent { bytes, caller: Caller { count, answer: Some(answer) } };
            self.pipelines.send(sent).await.map_err(|_closed| self.error())?;
            answered.await.unwrap_or_else(|_closed| Err(self.error()))
        };
        // A timeout differs from a broken connection: Redis may be busy with these very commands, so they are not
        // repeated.
        timeout(RESPONSE_TIMEOUT, exchange)
            .await
            .unwrap_or_else(|elapsed| Err(io::Error::from(elapsed).into()))
    }

    /// Returns the error of the connection, which is broken.
    fn error(&self) -> RedisError {
        match self.refusal.get() {
            Some(message) => dropped(format!("Redis refused the connection: {message}")),
            None => broken(),
        }
    }

    /// Returns true if the connection is known to be broken.
    pub(super) fn is_broken(&self) -> bool {
        self.pipelines.is_closed()
    }
}

/// Returns the settings of a connection, for a server at another host and port.
pub(super) fn at(settings: &ConnectionInfo, host: String, port: u16) -> ConnectionInfo {
    let address = match settings.addr() {
        ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
            ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
        }
        _ => ConnectionAddr::Tcp(host, port),
    };
    settings.clone().set_addr(address)
}

fn broken() -> RedisError {
    dropped("the connection to Redis broke".to_owned())
}

fn dropped(message: String) -> RedisError {
    io::Error::new(io::ErrorKind::BrokenPipe, message).into()
}

/// Connects to the first of a host's addresses that accepts the connection.
async fn connect(host: &str, port: u16) -> io::Result<TcpStream> {
    let connecting = lookup_host((host, port)).await?.map(|address| Box::pin(TcpStream::connect(address)));
    let connecting: Vec<_> = connecting.collect();
    if connecting.is_empty() {
        return Err(io::Error::new(io::ErrorKind::NotFound, "the host has no address"));
    }
    let (stream, _) = select_ok(connecting).await?;
    stream.set_nodelay(true)?;
    SockRef::from(&stream).set_tcp_keepalive(&TcpKeepalive::new().with_time(KEEPALIVE))?;
    Ok(stream)
}

/// Encrypts a connection. Trusts the system's certificates, or those in the file that `SSL_CERT_FILE` names.
async fn secure(host: &str, stream: TcpStream) -> Result<impl AsyncRead + AsyncWrite + use<>, RedisError> {
    let invalid =
        |cause: String| RedisError::from((ErrorKind::InvalidClientConfig, "TLS cannot be set up", cause));
    let mut roots = RootCertStore::empty();
    let found = rustls_native_certs::load_native_certs();
    roots.add_parsable_certificates(found.certs);
    if let (true, Some(error)) = (roots.is_empty(), found.errors.first()) {
        return Err(invalid(error.to_string()));
    }
    let config = ClientConfig::builder().with_root_certificates(roots).with_no_client_auth();
    let name = ServerName::try_from(host.to_owned()).map_err(|error| invalid(error.to_string()))?;
    Ok(TlsConnector::from(Arc::new(config)).connect(name, stream).await?)
}

/// Serves a connection until it breaks, or until there are no more callers. When this future ends, the channels of the
/// callers that still wait are dropped, which fails them.
async fn serve(
    stream: impl AsyncRead + AsyncWrite,
    mut pipelines: mpsc::Receiver<Sent>,
    listener: Option<Box<dyn Listener>>,
    refusal: Refusal,
) {
    let (mut reader, mut writer) = tokio::io::split(stream);
    let is_checked = listener.is_some();
    let (mut output, mut input) = (Output::default(), Input { listener, ..Input::default() });
    let mut check = interval(CHECK);
    check.set_missed_tick_behavior(MissedTickBehavior::Delay);
    let mut has_callers = true;
    while has_callers || input.waiting.iter().any(Caller::waits) {
        let done = tokio::select! {
            biased;
            read = reader.read_buf(input.room()) => match read {
                Ok(0) => Err(broken()),
                Ok(_) => input.deliver(),
                Err(error) => Err(error.into()),
            },
            written = output.write_to(&mut writer), if output.has_work() => match written {
                Ok(()) => Ok(()),
                Err(error) => {
                    input.read_rest(&mut reader).await;
                    Err(error.into())
                }
            },
            sent = pipelines.recv(), if has_callers && !output.is_full() => {
                has_callers = sent.is_some();
                let mut next = sent;
                while let Some(Sent { bytes, caller }) = next {
                    output.bytes.extend_from_slice(&bytes);
                    input.waiting.push_back(caller);
                    next = if output.is_full() { None } else { pipelines.try_recv().ok() };
                }
                Ok(())
            }
            _ = check.tick(), if is_checked => {
                if input.check() {
                    output.bytes.extend_from_slice(PING);
                }
                Ok(())
            }
        };
        if let Err(error) = done {
            drop(input.listener.take());
            if let Some(message) = input.refusal {
                drop(refusal.set(message));
            } else if let Some(caller) = input.waiting.pop_front() {
                // The first caller receives the cause.
                caller.answer(Err(error));
            }
            return;
        }
    }
}

/// Bytes to be written.
#[derive(Default)]
struct Output {
    bytes: BytesMut,
    /// True if written bytes may be held back by the stream's own buffer.
    is_unflushed: bool,
}

impl Output {
    fn is_full(&self) -> bool {
        self.bytes.len() >= MOST_UNWRITTEN
    }

    fn has_work(&self) -> bool {
        !self.bytes.is_empty() || self.is_unflushed
    }

    /// Writes some bytes, or flushes if there are none. May be cancelled.
    async fn write_to(&mut self, writer: &mut (impl AsyncWrite + Unpin)) -> io::Result<()> {
        if self.bytes.is_empty() {
            writer.flush().await?;
            self.is_unflushed = false;
            return Ok(());
        }
        if writer.write_buf(&mut self.bytes).await? == 0 {
            return Err(io::ErrorKind::WriteZero.into());
        }
        self.is_unflushed = true;
        Ok(())
    }
}

/// Bytes received, and the callers that wait for replies, in order.
#[derive(Default)]
struct Input {
    bytes: BytesMut,
    scanner: Scanner,
    /// The ends of the replies to the first caller that have arrived.
    ends: Vec<usize>,
    waiting: VecDeque<Caller>,
    listener: Option<Box<dyn Listener>>,
    /// True while the reply to a PING is awaited.
    is_checking: bool,
    /// True once a caller has received its replies.
    has_answered: bool,
    /// The message of an error that has arrived before the replies to any caller were complete.
    refusal: Option<String>,
}

impl Input {
    /// Returns the buffer, with room for more bytes.
    fn room(&mut self) -> &mut BytesMut {
        if self.bytes.is_empty() && self.bytes.capacity() > LARGE {
            self.bytes = BytesMut::new();
        }
        self.bytes.reserve(READ);
        &mut self.bytes
    }

    /// Reads what the server had sent before it closed the connection.
    async fn read_rest(&mut self, reader: &mut (impl AsyncRead + Unpin)) {
        let rest = async {
            while reader.read_buf(self.room()).await.is_ok_and(|read| read > 0) && self.deliver().is_ok() {}
        };
        // The server may have closed one direction only.
        drop(timeout(REST, rest).await);
    }

    /// Begins a check, unless one is under way. Returns true if a PING is to be sent.
    fn check(&mut self) -> bool {
        if std::mem::replace(&mut self.is_checking, true) {
            self.listener.iter_mut().for_each(|listener| listener.pause());
            return false;
        }
        self.waiting.push_back(Caller { count: 1, answer: None });
        true
    }

    fn end_check(&mut self) {
        self.is_checking = false;
        self.listener.iter_mut().for_each(|listener| listener.resume());
    }

    /// Removes a message from among the replies.
    fn remove(&mut self, start: usize, end: usize) {
        self.bytes.copy_within(end.., start);
        self.bytes.truncate(self.bytes.len() - (end - start));
        self.scanner.skip(end - start);
    }

    /// Notes a reply that may be the last one of a server that refuses the client.
    fn note_refusal(&mut self, start: usize, end: usize) {
        if let (false, [b'-', message @ ..]) = (self.has_answered, &self.bytes[start..end]) {
            self.refusal = Some(String::from_utf8_lossy(message).trim_end().to_owned());
        }
    }

    /// Gives the callers whose replies are complete their replies.
    fn deliver(&mut self) -> Result<(), RedisError> {
        while let Some(end) = self.scanner.end(&self.bytes)? {
            let start = self.ends.last().copied().unwrap_or(0);
            if let (Some(listener), b'>') = (&mut self.listener, self.bytes[start]) {
                listener.receive(Reply::new(&self.bytes[start..end]));
                self.remove(start, end);
                continue;
            }
            self.note_refusal(start, end);
            let Some(caller) = self.waiting.front() else {
                let reply = String::from_utf8_lossy(&self.bytes[..end.min(MOST_SHOWN)]).into_owned();
                return Err((ErrorKind::Parse, "Redis sent a reply to no command", reply).into());
            };
            if self.ends.is_empty() {
                self.ends.reserve_exact(caller.count);
            }
            self.ends.push(end);
            if self.ends.len() == caller.count {
                let bytes = self.bytes[..end].to_vec();
                self.bytes.advance(end);
                let elements = self.scanner.advance(end);
                let replies = Replies::new(bytes, std::mem::take(&mut self.ends), elements);
                (self.has_answered, self.refusal) = (true, None);
                if let Some(caller) = self.waiting.pop_front() {
                    if caller.answer.is_none() {
                        self.end_check();
                    }
                    caller.answer(Ok(replies));
                }
            }
        }
        Ok(())
    }
}

#[cfg(test)]
mod tests {
    use std::pin::Pin;
    use std::task::{Context, Poll};

    use futures::future::join_all;
    use tokio::io::{DuplexStream, duplex};

    use super::*;

    #[tokio::test]
    async fn a_connection_ends_if_its_caller_gives_up_before_the_server_responds() {
        let (connection, mut server) = connected(1 << 10);
        drop(timeout(Duration::from_millis(10), numbers(&connection, 0, 1)).await);
        drop(connection);
        let mut received = Vec::new();
        timeout(Duration::from_secs(5), server.read_to_end(&mut received)).await.unwrap().unwrap();
    }

    /// Returns a connection, and the server's end of it.
    fn connected(buffer: usize) -> (Connection, DuplexStream) {
        let (client, server) = duplex(buffer);
        (Connection::over(client, None), server)
    }

    /// A command that asks for its number, and the reply.
    fn ask(number: usize) -> Vec<u8> {
        format!("*1\r\n${}\r\n{number}\r\n", number.to_string().len()).into_bytes()
    }

    fn reply(number: usize) -> Vec<u8> {
        format!("*2\r\n:{number}\r\n${}\r\n{number}\r\n", number.to_string().len()).into_bytes()
    }

    /// Sends pipelines of several commands, and returns the numbers in the replies.
    async fn numbers(connection: &Connection, first: usize, count: usize) -> Result<Vec<i64>, RedisError> {
        let commands: Vec<u8> = (first..first + count).flat_map(ask).collect();
        let replies = connection.send(commands.into(), count).await?;
        let number = |reply: crate::driver::reply::Reply<'_>| {
            reply.elements().unwrap().next().unwrap().integer().unwrap()
        };
        Ok(replies.iter().map(number).collect())
    }

    fn expected(first: usize, count: usize) -> Vec<i64> {
        (first..first + count).map(|number| i64::try_from(number).unwrap()).collect()
    }

    /// Reads commands, and writes the reply to each in pieces of this size. Stops after `most` bytes of replies.
    async fn answer(mut server: DuplexStream, piece: usize, most: usize) {
        let (mut received, mut written) = (Vec::new(), 0);
        while server.read_buf(&mut received).await.is_ok_and(|read| read > 0) {
            while let Some((number, end)) = first_command(&received) {
                received.drain(..end);
                for piece in reply(number).chunks(piece) {
                    let piece = &piece[..piece.len().min(most - written)];
                    if server.write_all(piece).await.is_err() {
                        return;
                    }
                    written += piece.len();
                    if written == most {
                        return;
                    }
                    tokio::task::yield_now().await;
                }
            }
        }
    }

    fn first_command(bytes: &[u8]) -> Option<(usize, usize)> {
        let end = Scanner::default().end(bytes).unwrap()?;
        let text = std::str::from_utf8(&bytes[..end]).unwrap();
        Some((text.split("\r\n").nth(2).unwrap().parse().unwrap(), end))
    }

    #[tokio::test]
    async fn every_caller_receives_the_replies_to_its_own_pipeline() {
        for piece in [1, 3, 7, 1_000] {
            let (connection, server) = connected(64);
            tokio::spawn(answer(server, piece, usize::MAX));
            let callers = (0..200).map(|caller| {
                let connection = &connection;
                async move {
                    let (first, count) = (caller * 100, caller % 5 + 1);
                    assert_eq!(numbers(connection, first, count).await.unwrap(), expected(first, count));
                }
            });
            join_all(callers).await;
            assert!(!connection.is_broken());
        }
    }

    #[tokio::test]
    async fn a_caller_that_gives_up_does_not_disturb_the_others() {
        let (connection, server) = connected(1 << 16);
        let given_up = tokio::time::timeout(Duration::from_millis(10), numbers(&connection, 0, 3)).await;
        assert!(given_up.is_err());
        let other = tokio::spawn({
            let connection = connection.clone();
            async move { numbers(&connection, 50, 2).await.unwrap() }
        });
        tokio::task::yield_now().await;
        tokio::spawn(answer(server, 5, usize::MAX));
        assert_eq!(other.await.unwrap(), expected(50, 2));
    }

    #[tokio::test]
    async fn wherever_a_connection_breaks_each_caller_receives_its_replies_or_an_error() {
        let total: usize = (0..8).map(|number| reply(number).len()).sum();
        for most in 0..total {
            let (connection, server) = connected(1 << 16);
            let serving = tokio::spawn(answer(server, 1 << 16, most.max(1)));
            let callers = (0..4).map(|caller| numbers(&connection, caller * 2, 2));
            let mut has_failed = false;
            for (caller, result) in join_all(callers).await.into_iter().enumerate() {
                match result {
                    Ok(numbers) => {
                        assert!(!has_failed, "replies come in order");
                        assert_eq!(numbers, expected(caller * 2, 2));
                    }
                    Err(error) => {
                        has_failed = true;
                        assert!(
                            error.is_connection_dropped(),
                            "the pool tries another connection: {error:?}"
                        );
                    }
                }
            }
            serving.await.unwrap();
            assert!(has_failed);
            let late = numbers(&connection, 0, 1).await.unwrap_err();
            assert!(late.is_connection_dropped() && connection.is_broken());
        }
    }

    #[tokio::test]
    async fn a_malformed_reply_breaks_the_connection() {
        for garbage in ["HTTP/1.1 400 Bad Request\r\n", "$3\r\nabcd\r\n", "*99999999999\r\n"] {
            let (connection, mut server) = connected(1 << 16);
            server.write_all(garbage.as_bytes()).await.unwrap();
            let first = numbers(&connection, 0, 1).await.unwrap_err();
            assert!(first.kind() == ErrorKind::Parse || first.is_connection_dropped(), "{first:?}");
            assert!(numbers(&connection, 0, 1).await.unwrap_err().is_connection_dropped());
        }
    }

    #[tokio::test]
    async fn an_unexpected_reply_breaks_the_connection() {
        let (connection, mut server) = connected(1 << 16);
        server.write_all(b"-ERR max number of clients reached\r\n").await.unwrap();
        while !connection.is_broken() {
            tokio::task::yield_now().await;
        }
    }

    #[tokio::test]
    async fn the_error_of_a_server_that_refuses_the_client_is_the_cause() {
        for is_late in [false, true] {
            let (connection, mut server) = connected(1 << 16);
            let caller = numbers(&connection, 0, 2);
            let refuse = async {
                if is_late {
                    server.read_exact(&mut [0; 4]).await.unwrap();
                }
                server.write_all(b"-ERR max number of clients reached\r\n").await.unwrap();
                drop(server);
            };
            let (first, ()) = tokio::join!(caller, refuse);
            for error in [first.unwrap_err(), numbers(&connection, 0, 1).await.unwrap_err()] {
                assert!(error.is_connection_dropped());
                let cause = "Redis refused the connection: ERR max number of clients reached";
                assert_eq!(error.to_string(), cause);
            }
        }
    }

    /// The writing end of a stream whose reader has closed it.
    struct Closed;

    impl AsyncWrite for Closed {
        fn poll_write(self: Pin<&mut Self>, _: &mut Context<'_>, _: &[u8]) -> Poll<io::Result<usize>> {
            Poll::Ready(Err(io::ErrorKind::BrokenPipe.into()))
        }

        fn poll_flush(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }

        fn poll_shutdown(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<io::Result<()>> {
            Poll::Ready(Ok(()))
        }
    }

    #[tokio::test]
    async fn what_the_server_sent_before_a_failed_write_is_read() {
        let (reader, mut server) = duplex(1 << 10);
        let connection = Connection::over(tokio::io::join(reader, Closed), None);
        let refuse = async {
            tokio::task::yield_now().await;
            server.write_all(b"-DENIED protected mode\r\n").await.unwrap();
            drop(server);
        };
        let (result, ()) = tokio::join!(numbers(&connection, 0, 2), refuse);
        let error = result.unwrap_err().to_string();
        assert_eq!(error, "Redis refused the connection: DENIED protected mode");
    }

    #[tokio::test]
    async fn an_error_of_a_command_is_not_the_cause_of_a_later_break() {
        let (connection, mut server) = connected(1 << 16);
        let first = tokio::spawn({
            let connection = connection.clone();
            async move { connection.send(ask(0).into(), 1).await }
        });
        server.read_exact(&mut [0; 4]).await.unwrap();
        server.write_all(b"-ERR no such command\r\n").await.unwrap();
        assert!(first.await.unwrap().is_ok());
        drop(server);
        assert_eq!(
            numbers(&connection, 0, 1).await.unwrap_err().to_string(),
            "the connection to Redis broke"
        );
    }

    #[tokio::test(start_paused = true)]
    async fn a_server_that_does_not_answer_is_given_up_after_the_timeout() {
        let (connection, _server) = connected(1 << 16);
        let began = tokio::time::Instant::now();
        let error = numbers(&connection, 0, 1).await.unwrap_err();
        assert!(error.is_timeout() && !error.is_connection_dropped());
        assert_eq!(began.elapsed().as_secs(), RESPONSE_TIMEOUT.as_secs());
    }

    #[tokio::test]
    async fn callers_wait_while_the_server_reads_nothing() {
        let (connection, server) = connected(1_024);
        let callers: Vec<_> = (0..1_000)
            .map(|caller| {
                let connection = connection.clone();
                tokio::spawn(async move { numbers(&connection, caller, 200).await.unwrap() })
            })
            .collect();
        while connection.pipelines.capacity() > 0 {
            tokio::task::yield_now().await;
        }
        for _ in 0..100 {
            tokio::task::yield_now().await;
        }
        assert_eq!(connection.pipelines.capacity(), 0);
        tokio::spawn(answer(server, 1 << 16, usize::MAX));
        for (caller, numbers) in join_all(callers).await.into_iter().enumerate() {
            assert_eq!(numbers.unwrap(), expected(caller, 200));
        }
    }
}
