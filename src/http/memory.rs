//! Accounts for the memory that clients occupy: heads, bodies and messages over WebSockets that arrive, operations that
//! wait or run, and responses that are waiting to be sent.
//!
//! A client occupies a [`Share`] before it fills the memory, and frees it when the memory is free. An address has a
//! part of the whole, so that clients that do not read, or that send and never finish, only exclude others behind the
//! same address. What is rejected gets an error; nothing waits for memory.
//!
//! A share of at most [`FREE`] bytes does not count, because each connection has a buffer of this size anyway, and the
//! number of connections is limited; a larger share counts as a whole. So ordinary requests need no shared memory, and
//! are served however much others occupy.
//!
//! Not here: the number of connections (`http::peer`) and of WebSockets (`http::seat`); the work of an operation in
//! execution, which its budget and its turn limit.

use std::collections::HashMap;
use std::pin::Pin;
use std::sync::Arc;
use std::task::{Context, Poll, ready};
use std::time::Duration;

use axum::body::Body;
use axum::http::StatusCode;
use axum::response::Response;
use hyper::body::{Body as HttpBody, Bytes, Frame, SizeHint};
use parking_lot::{Mutex, MutexGuard};

use crate::config::HttpConfig;
use crate::graphql::LARGE_REQUEST;
use crate::graphql::error::{Code, RequestError};
use crate::http::response::Failure;
use crate::model::address::Address;

/// Size up to which a share does not count, in bytes. A larger request counts, because it waits for its turn before it
/// is parsed.
pub(super) const FREE: usize = LARGE_REQUEST;
/// Reciprocal of the part of the memory that an address may occupy.
const ADDRESSES: usize = 8;
/// Size of the chunks in which a response is sent, in bytes.
const CHUNK: usize = 65_536;
/// Time after which a rejected client may retry.
pub(super) const RETRY_AFTER: Duration = Duration::from_secs(2);

/// The memory of a process for clients.
pub(super) struct Memory {
    most: usize,
    occupied: Mutex<Occupied>,
}

/// The occupied memory, in bytes: in total, and by address.
#[derive(Default)]
struct Occupied {
    all: usize,
    of_address: HashMap<Address, usize>,
}

/// Memory that a client occupies. Dropping it frees the memory.
pub(super) struct Share {
    memory: Arc<Memory>,
    /// The client's address; `None` if it is unknown or a trusted proxy's, which has no part of its own.
    address: Option<Address>,
    /// Size up to which the share does not count, in bytes.
    free: usize,
    bytes: usize,
}

/// The reason why a client gets no memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The clients together occupy all of it.
    All,
    /// The address occupies its part.
    Address,
}

impl Memory {
    pub(super) fn new(config: &HttpConfig) -> Arc<Self> {
        let most = usize::try_from(config.http_memory_limit).unwrap_or(usize::MAX);
        Arc::new(Self { most, occupied: Mutex::default() })
    }

    /// Returns an empty share of what a connection has one of at a time, such as a request.
    pub(super) fn share(self: &Arc<Self>, address: Option<Address>) -> Share {
        Share { memory: Arc::clone(self), address, free: FREE, bytes: 0 }
    }

    /// Returns an empty share of what a connection has many of, such as the operations over a WebSocket.
    pub(super) fn share_of_many(self: &Arc<Self>, address: Option<Address>) -> Share {
        Share { memory: Arc::clone(self), address, free: 0, bytes: 0 }
    }

    /// Returns the number of occupied bytes.
    pub(super) fn occupied(&self) -> usize {
        self.lock().all
    }

    fn lock(&self) -> MutexGuard<'_, Occupied> {
        self.occupied.lock()
    }
}

impl Share {
    /// Changes the size of the share. If that fails, the share keeps its size. A share that is alone, at its address or
    /// in the process, may exceed the limit: other limits apply to a single operation.
    pub(super) fn resize(&mut self, bytes: usize) -> Result<(), Full> {
        let bytes = self.counted(bytes);
        if bytes == self.bytes {
            return Ok(());
        }
        let memory = Arc::clone(&self.memory);
        let mut occupied = memory.lock();
        let is_full = |all: usize, most: usize| {
            let others = all - self.bytes;
            bytes > self.bytes && others > 0 && others + bytes > most
        };
        if is_full(occupied.all, memory.most) {
            return Err(Full::All);
        }
        let of_address = self.address.and_then(|address| occupied.of_address.get(&address).copied());
        if is_full(of_address.unwrap_or(self.bytes), memory.most / ADDRESSES) {
            return Err(Full::Address);
        }
        self.set(&mut occupied, bytes);
        Ok(())
    }

    /// Frees what exceeds this size.
    pub(super) fn shrink(&mut self, bytes: usize) {
        let bytes = self.counted(bytes).min(self.bytes);
        if bytes < self.bytes {
            let memory = Arc::clone(&self.memory);
            self.set(&mut memory.lock(), bytes);
        }
    }

    /// Returns the number of bytes that count if the client uses this many.
    fn counted(&self, bytes: usize) -> usize {
        if bytes > self.free { bytes } else { 0 }
    }

    fn set(&mut self, occupied: &mut Occupied, bytes: usize) {
        occupied.all = occupied.all - self.bytes + bytes;
        if let Some(address) = self.address {
            let of_address = occupied.of_address.entry(address).or_default();
            *of_address = *of_address - self.bytes + bytes;
            if *of_address == 0 {
                occupied.of_address.remove(&address);
            }
        }
        self.bytes = bytes;
    }

    /// Returns an empty share of the same address, of something else.
    pub(super) fn beside(&self) -> Self {
        self.memory.share_of_many(self.address)
    }

    /// Changes the size of the share to that of a response. The response to a mutation gets what it needs: its client
    /// would repeat what was done. `reads` means that it is the response to a query.
    pub(super) fn fill(&mut self, bytes: usize, reads: bool) -> Result<(), Full> {
        let filled = self.resize(bytes);
        if filled.is_err() && !reads {
            let (memory, bytes) = (Arc::clone(&self.memory), self.counted(bytes));
            self.set(&mut memory.lock(), bytes);
            return Ok(());
        }
        filled
    }

    /// Returns the response, which occupies the share until it is sent; see [`Self::fill`].
    pub(super) fn hold(mut self, response: Response, reads: bool) -> Result<Response, Full> {
        let bytes = response.body().size_hint().lower();
        self.fill(usize::try_from(bytes).unwrap_or(usize::MAX), reads)?;
        Ok(response.map(|body| Body::new(HeldBody { body, rest: Bytes::new(), share: Arc::new(self) })))
    }
}

/// A response body that occupies memory until it is sent. It is sent in chunks, each of which holds the share: the
/// memory is free once the system has taken the last chunk.
struct HeldBody {
    body: Body,
    /// The rest of the data that the body has given.
    rest: Bytes,
    share: Arc<Share>,
}

/// A chunk of a response body.
struct Chunk {
    bytes: Bytes,
    _share: Arc<Share>,
}

impl AsRef<[u8]> for Chunk {
    fn as_ref(&self) -> &[u8] {
        &self.bytes
    }
}

impl HttpBody for HeldBody {
    type Data = Bytes;
    type Error = axum::Error;

    fn poll_frame(
        mut self: Pin<&mut Self>,
        context: &mut Context<'_>,
    ) -> Poll<Option<Result<Frame<Bytes>, axum::Error>>> {
        if self.rest.is_empty() {
            match ready!(Pin::new(&mut self.body).poll_frame(context)) {
                Some(Ok(frame)) => match frame.into_data() {
                    Ok(data) => self.rest = data,
                    Err(other) => return Poll::Ready(Some(Ok(other))),
                },
                end => return Poll::Ready(end),
            }
        }
        let length = self.rest.len().min(CHUNK);
        let chunk = Chunk { bytes: self.rest.split_to(length), _share: Arc::clone(&self.share) };
        Poll::Ready(Some(Ok(Frame::data(Bytes::from_owner(chunk)))))
    }

    fn is_end_stream(&self) -> bool {
        self.rest.is_empty() && self.body.is_end_stream()
    }

    fn size_hint(&self) -> SizeHint {
        let (mut hint, rest) = (self.body.size_hint(), self.rest.len() as u64);
        let upper = hint.upper();
        hint.set_lower(hint.lower() + rest);
        if let Some(upper) = upper {
            hint.set_upper(upper + rest);
        }
        hint
    }
}

impl Drop for Share {
    fn drop(&mut self) {
        self.shrink(0);
    }
}

impl Full {
    /// Returns the HTTP status of a request that gets no memory.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::All => StatusCode::SERVICE_UNAVAILABLE,
            Self::Address => StatusCode::TOO_MANY_REQUESTS,
        }
    }

    /// Returns what a client is told, in at most 123 bytes, the limit of a WebSocket's close frame.
    pub(super) fn message(self) -> &'static str {
        match self {
            Self::All => {
                "The server has too many requests and unread responses in progress. Try again later."
            }
            Self::Address => {
                "This address has too many requests and unread responses in progress. Try again later."
            }
        }
    }

    /// Returns the error of an operation that gets no memory.
    pub(super) fn into_error(self) -> RequestError {
        let code = match self {
            Self::All => Code::Unavailable,
            Self::Address => Code::RateLimited,
        };
        RequestError::retry_after(code, self.message(), RETRY_AFTER)
    }

    pub(super) fn into_failure(self) -> Failure {
        Failure::of(self.into_error()).with_status(self.status())
    }
}

#[cfg(test)]
mod tests {
    use std::net::IpAddr;

    use http_body_util::BodyExt as _;

    use super::*;

    fn memory(most: usize) -> Arc<Memory> {
        Arc::new(Memory { most, occupied: Mutex::default() })
    }

    fn address(last: u8) -> Address {
        IpAddr::from([192, 0, 2, last]).into()
    }

    #[test]
    fn an_address_occupies_its_part_and_others_the_rest() {
        let memory = memory(80);
        let mut held: Vec<Share> = (0..9).map(|last| memory.share_of_many(Some(address(last)))).collect();
        assert_eq!(held[0].resize(6), Ok(()));
        let mut second = memory.share_of_many(Some(address(0)));
        assert_eq!(second.resize(5), Err(Full::Address));
        assert_eq!(second.resize(4), Ok(()));
        assert_eq!(second.resize(5), Err(Full::Address), "it keeps its size");
        for share in &mut held[1..8] {
            assert_eq!(share.resize(10), Ok(()));
        }
        assert_eq!(held[8].resize(1), Err(Full::All));
        drop(second);
        assert_eq!((held[8].resize(4), memory.occupied()), (Ok(()), 80));
        assert_eq!(held[8].resize(2), Ok(()), "less is always granted");
        held.clear();
        assert_eq!((memory.occupied(), memory.lock().of_address.len()), (0, 0));
    }

    #[test]
    fn what_is_alone_may_exceed_the_limit() {
        let memory = memory(80);
        let (mut one, mut other) =
            (memory.share_of_many(Some(address(1))), memory.share_of_many(Some(address(2))));
        assert_eq!(one.resize(1_000), Ok(()));
        assert_eq!(other.resize(1), Err(Full::All));
        assert_eq!(one.resize(11), Ok(()));
        assert_eq!((other.resize(11), other.resize(71)), (Ok(()), Err(Full::All)));
        let mut unknown = memory.share_of_many(None);
        assert_eq!((unknown.resize(58), unknown.resize(59)), (Ok(()), Err(Full::All)));
    }

    #[tokio::test]
    async fn a_response_occupies_memory_until_its_last_chunk_is_sent() {
        let memory = memory(CHUNK);
        let share = memory.share_of_many(Some(address(1)));
        let mut body = share.hold(Response::new(vec![0; 2 * CHUNK + 1].into()), true).unwrap().into_body();
        let mut chunks = Vec::new();
        while let Some(frame) = body.frame().await {
            chunks.push(frame.unwrap().into_data().unwrap());
        }
        drop(body);
        assert_eq!(chunks.iter().map(Bytes::len).collect::<Vec<_>>(), [CHUNK, CHUNK, 1]);
        chunks.truncate(1);
        assert_eq!(memory.occupied(), 2 * CHUNK + 1);
        chunks.clear();
        assert_eq!(memory.occupied(), 0);
    }

    #[test]
    fn the_response_to_a_mutation_gets_memory_and_one_to_a_query_does_not() {
        let memory = memory(80);
        let mut other = memory.share_of_many(None);
        assert_eq!(other.resize(80), Ok(()));
        let mut share = memory.share_of_many(Some(address(1)));
        assert_eq!((share.fill(20, true), memory.occupied()), (Err(Full::All), 80));
        assert_eq!((share.fill(20, false), memory.occupied()), (Ok(()), 100));
        drop(share);
        assert_eq!(memory.occupied(), 80);
    }

    #[test]
    fn ordinary_requests_need_no_shared_memory() {
        let memory = memory(8 * FREE);
        let (mut hostile, mut ordinary) =
            (memory.share_of_many(Some(address(1))), memory.share(Some(address(1))));
        assert_eq!(hostile.resize(FREE), Ok(()));
        assert_eq!((ordinary.resize(FREE), memory.occupied()), (Ok(()), FREE));
        assert_eq!(ordinary.resize(FREE + 1), Err(Full::Address));
        hostile.shrink(0);
        assert_eq!((ordinary.resize(FREE + 1), memory.occupied()), (Ok(()), FREE + 1));
        ordinary.shrink(FREE);
        assert_eq!(memory.occupied(), 0);
    }
}
