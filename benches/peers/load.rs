//! Sends requests over connections that each wait for a response before the next request, and compares every response
//! with the expected one.

use std::borrow::Cow;
use std::time::{Duration, Instant};

use futures::future::join_all;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// Durations of all requests of a load, and its own.
pub(crate) struct Load {
    pub(crate) requests: Vec<Duration>,
    pub(crate) took: Duration,
}

impl Load {
    /// Returns the number of requests per second.
    pub(crate) fn rate(&self) -> f64 {
        #[allow(clippy::cast_precision_loss, reason = "there are few requests")]
        let requests = self.requests.len() as f64;
        requests / self.took.as_secs_f64()
    }
}

/// A request, and the body of the response to it.
pub(crate) struct Exchange {
    pub(crate) request: Vec<u8>,
    pub(crate) expected: Vec<u8>,
}

/// Sends requests again and again, over `connections` connections for `time`. The connections start at different
/// requests.
///
/// # Panics
/// If a response differs from the expected one, or the server closes a connection.
pub(crate) async fn load(address: &str, exchanges: &[Exchange], connections: usize, time: Duration) -> Load {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Connection::open(address).await);
    }
    let began = Instant::now();
    let until = began + time;
    let sent = opened.iter_mut().enumerate().map(|(index, connection)| {
        let start = index * exchanges.len() / connections;
        let turns = exchanges[start..].iter().chain(exchanges.iter().cycle());
        connection.send_until(turns, until)
    });
    let requests = join_all(sent).await.into_iter().flatten().collect();
    Load { requests, took: began.elapsed() }
}

/// Sends each of these requests once, and returns the bodies of the responses.
pub(crate) async fn ask(address: &str, requests: &[Vec<u8>]) -> Vec<Vec<u8>> {
    let mut connection = Connection::open(address).await;
    let mut bodies = Vec::with_capacity(requests.len());
    for request in requests {
        connection.send(request).await;
        bodies.push(body(&connection.received).unwrap().into_owned());
    }
    bodies
}

struct Connection {
    stream: TcpStream,
    /// The current response, head and body.
    received: Vec<u8>,
}

impl Connection {
    async fn open(address: &str) -> Self {
        let stream = TcpStream::connect(address).await.unwrap();
        stream.set_nodelay(true).unwrap();
        Self { stream, received: Vec::with_capacity(64 << 10) }
    }

    async fn send_until<'a>(
        &mut self,
        exchanges: impl Iterator<Item = &'a Exchange>,
        until: Instant,
    ) -> Vec<Duration> {
        let mut requests = Vec::new();
        let mut began = Instant::now();
        for Exchange { request, expected } in exchanges {
            if began >= until {
                break;
            }
            self.send(request).await;
            assert!(body(&self.received).unwrap() == &expected[..], "a response differs from the first one");
            let now = Instant::now();
            requests.push(now - began);
            began = now;
        }
        requests
    }

    /// Sends a request, and receives the whole response.
    async fn send(&mut self, request: &[u8]) {
        self.received.clear();
        self.stream.write_all(request).await.unwrap();
        while body(&self.received).is_none() {
            let bytes = self.stream.read_buf(&mut self.received).await.unwrap();
            assert!(bytes > 0, "the server has closed the connection");
        }
    }
}

/// Returns the body of a response; `None` if the response is not complete.
///
/// # Panics
/// If the response is not 200 OK.
fn body(received: &[u8]) -> Option<Cow<'_, [u8]>> {
    let end = received.windows(4).position(|bytes| bytes == b"\r\n\r\n")?;
    let (head, rest) = (&received[..end], &received[end + 4..]);
    assert!(head.starts_with(b"HTTP/1.1 200"), "{}", String::from_utf8_lossy(received));
    for line in head.split(|byte| *byte == b'\n').skip(1) {
        let line = line.trim_ascii_end();
        let value = |name: &[u8]| {
            let (found, value) = line.split_at_checked(name.len())?;
            found.eq_ignore_ascii_case(name).then(|| str::from_utf8(value).unwrap().trim())
        };
        if let Some(length) = value(b"content-length:") {
            return rest.get(..length.parse().unwrap()).map(Cow::Borrowed);
        }
        if value(b"transfer-encoding:").is_some() {
            return joined_chunks(rest).map(Cow::Owned);
        }
    }
    panic!("a response without a length: {}", String::from_utf8_lossy(head));
}

/// Returns the content of a chunked body; `None` if the body is not complete.
fn joined_chunks(mut rest: &[u8]) -> Option<Vec<u8>> {
    let mut content = Vec::new();
    loop {
        let end = rest.windows(2).position(|bytes| bytes == b"\r\n")?;
        let size = usize::from_str_radix(str::from_utf8(&rest[..end]).unwrap(), 16).unwrap();
        content.extend_from_slice(rest.get(end + 2..end + 2 + size)?);
        rest = rest.get(end + 2 + size + 2..)?;
        if size == 0 {
            return Some(content);
        }
    }
}
