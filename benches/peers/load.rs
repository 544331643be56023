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

/// Sends a request again and again, over `connections` connections for `time`.
///
/// # Panics
/// If a response differs from `expected`, or the server closes a connection.
pub(crate) async fn load(
    address: &str,
    request: &[u8],
    expected: &[u8],
    connections: usize,
    time: Duration,
) -> Load {
    let mut opened = Vec::with_capacity(connections);
    for _ in 0..connections {
        opened.push(Connection::open(address).await);
    }
    let began = Instant::now();
    let until = began + time;
    let sent = opened.iter_mut().map(|connection| connection.send_until(request, expected, until));
    let requests = join_all(sent).await.into_iter().flatten().collect();
    Load { requests, took: began.elapsed() }
}

/// Sends one request, and returns the body of its response.
pub(crate) async fn ask(address: &str, request: &[u8]) -> Vec<u8> {
    let mut connection = Connection::open(address).await;
    connection.send(request).await;
    body(&connection.received).unwrap().into_owned()
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

    async fn send_until(&mut self, request: &[u8], expected: &[u8], until: Instant) -> Vec<Duration> {
        let mut requests = Vec::new();
        let mut began = Instant::now();
        while began < until {
            self.send(request).await;
            assert!(body(&self.received).unwrap() == expected, "a response differs from the first one");
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
