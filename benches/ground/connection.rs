//! A connection for plain HTTP requests.

use serde_json::json;
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::TcpStream;

/// A connection that sends requests one after another.
pub(crate) struct Connection {
    address: String,
    stream: Option<TcpStream>,
}

impl Connection {
    pub(crate) fn new(address: &str) -> Self {
        Self { address: address.to_owned(), stream: None }
    }

    /// Sends a request, and returns the status of the response and the bytes of its body. Reopens a connection that the
    /// server has closed.
    pub(crate) async fn send(&mut self, request: &[u8]) -> (u16, usize) {
        loop {
            let mut stream = match self.stream.take() {
                Some(stream) => stream,
                None => TcpStream::connect(&self.address).await.unwrap(),
            };
            let _ = stream.write_all(request).await;
            if let Some((status, bytes)) = read(&mut stream).await {
                self.stream = (status != 413).then_some(stream);
                return (status, bytes);
            }
        }
    }
}

/// Reads a whole response, and returns its status and the bytes of its body.
async fn read(stream: &mut TcpStream) -> Option<(u16, usize)> {
    let mut bytes = Vec::new();
    loop {
        let read = stream.read_buf(&mut bytes).await.ok()?;
        let head = bytes.windows(4).position(|end| end == b"\r\n\r\n");
        if let Some(head) = head {
            let text = String::from_utf8_lossy(&bytes[..head]).to_ascii_lowercase();
            let length: usize = text.split("content-length: ").nth(1)?.split('\r').next()?.parse().ok()?;
            if bytes.len() >= head + 4 + length {
                return Some((text[9..12].parse().ok()?, length));
            }
        }
        if read == 0 {
            return None;
        }
    }
}

/// Returns a request for a query. `authorization` is a header line, or empty.
pub(crate) fn request(query: &str, authorization: &str) -> Vec<u8> {
    let body = json!({ "query": query }).to_string();
    format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\n{authorization}content-type: application/json\r\n\
         content-length: {}\r\n\r\n{body}",
        body.len()
    )
    .into_bytes()
}
