//! Distributes connections among clients, and closes idle connections to make room for others.
//!
//! When the maximum number of connections is open, the server closes those that have been idle longest. No request is
//! lost: if a connection closes before the server reads a request, the client resends the request over another
//! connection. Busy connections (requests in progress, WebSockets and event streams) stay open. Beyond the limit, the
//! server accepts a few *spare* connections and rejects their requests, so that clients learn why and when to retry.
//!
//! Each address has a limit of its own, under the same rules. Trusted proxies and peers on a Unix socket are exempt,
//! since many clients share them.

use std::collections::HashMap;
use std::net::IpAddr;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};

use axum::http::StatusCode;
use parking_lot::{Mutex, MutexGuard};
use tokio::sync::Notify;
use tokio::time::Instant;

use crate::config::HttpConfig;
use crate::http::address;
use crate::model::address::Address;

/// Number of a listener's spare connections, which exceed the limit and on which requests are rejected.
const SPARE: usize = 16;
/// Maximum number of connections to the admin listener.
const ADMIN: usize = 32;
/// Maximum number of connections in addition to `--http-sockets`, even if the open-file limit allows more, since each
/// connection takes some memory.
const MOST_BESIDE_SOCKETS: usize = 40_000;
/// Reciprocal of the fraction of idle connections that the server closes at a time. Closing several at once avoids a
/// scan of all idle connections for each new connection.
const CLOSED_TOGETHER: usize = 32;

/// All connections to a listener.
pub(super) struct Peers {
    is_proxy: Box<dyn Fn(IpAddr) -> bool + Send + Sync>,
    most: usize,
    most_of_address: usize,
    began: Instant,
    open: Mutex<Open>,
}

#[derive(Default)]
struct Open {
    all: HashMap<u64, Arc<Peer>>,
    /// Number of connections that are not spare.
    ordinary: Count,
    of_address: HashMap<Address, Count>,
    spare: Count,
    /// Number of connections admitted so far. It becomes the number of the next connection.
    arrivals: u64,
}

#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Count {
    open: usize,
    /// Number of open connections that were asked to close.
    closing: usize,
}

impl Count {
    fn staying(self) -> usize {
        self.open - self.closing
    }
}

/// A connection's state, shared by the connection's task and [`Peers`].
pub(super) struct Peer {
    /// The client's address; `None` for a trusted proxy, and on a Unix socket.
    pub(super) address: Option<Address>,
    /// The reason why requests are rejected; `None` for an ordinary connection.
    pub(super) spare: Option<Full>,
    /// True while a request is in progress, and permanently once the connection has become a WebSocket.
    is_busy: AtomicBool,
    /// True once the connection has become a WebSocket.
    is_socket: AtomicBool,
    /// Number of request heads that have arrived.
    heads: AtomicU64,
    /// True once a head has enlarged the connection's buffer.
    has_large_head: AtomicBool,
    /// The time at which the connection became idle, in milliseconds since the process started.
    idle_since: AtomicU64,
    /// True if the connection was asked to close. Changes only while [`Peers`] is locked.
    is_closing: AtomicBool,
    close: Notify,
}

/// A connection's registration. Dropping it removes the connection from all counts.
pub(super) struct Entry {
    peers: Arc<Peers>,
    number: u64,
    pub(super) peer: Arc<Peer>,
}

/// The reason why a client gets no ordinary connection.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Full {
    /// The address has its maximum number of connections, all of them busy.
    Address,
    /// The listener has its maximum number of connections, all of them busy.
    All,
}

impl Full {
    /// Returns the HTTP status of a request that is rejected for this reason.
    pub(super) fn status(self) -> StatusCode {
        match self {
            Self::Address => StatusCode::TOO_MANY_REQUESTS,
            Self::All => StatusCode::SERVICE_UNAVAILABLE,
        }
    }
}

impl Peers {
    /// Creates the limits of the main listener of a process that may use `files` file descriptors for connections.
    pub(super) fn new(config: &HttpConfig, files: usize) -> Arc<Self> {
        let most = files.saturating_sub(SPARE + ADMIN + SPARE).max(1);
        let most = most.min(MOST_BESIDE_SOCKETS + config.http_sockets as usize);
        let of_address = (config.clients.http_connections_per_address as usize).min(most / 2).max(1);
        let proxies = config.http_trusted_proxies.clone();
        Self::with(most, of_address, move |peer| address::is_trusted(peer, &proxies))
    }

    /// Creates the limits of the admin listener, which has connections of its own: it responds while all others are
    /// taken.
    pub(super) fn of_admin() -> Arc<Self> {
        Self::with(ADMIN, ADMIN, |_| false)
    }

    fn with(
        most: usize,
        most_of_address: usize,
        is_proxy: impl Fn(IpAddr) -> bool + Send + Sync + 'static,
    ) -> Arc<Self> {
        let (is_proxy, began, open) = (Box::new(is_proxy), Instant::now(), Mutex::default());
        Arc::new(Self { is_proxy, most, most_of_address, began, open })
    }

    /// Admits a connection from an address, or on a Unix socket. The connection is ordinary if there is room or idle
    /// connections can be closed, otherwise spare if the limit on spare connections allows it.
    pub(super) fn enter(self: &Arc<Self>, from: Option<IpAddr>) -> Result<Entry, Full> {
        let address = from.filter(|from| !(self.is_proxy)(*from)).map(Address::from);
        let mut open = self.lock();
        let spare = self.find_room(&mut open, address).err();
        if let Some(full) = spare
            && open.spare.staying() >= SPARE
            && !open.make_room(|peer| peer.spare.is_some())
        {
            return Err(full);
        }
        let peer = Arc::new(Peer {
            address,
            spare,
            is_busy: AtomicBool::new(false),
            is_socket: AtomicBool::new(false),
            heads: AtomicU64::new(0),
            has_large_head: AtomicBool::new(false),
            idle_since: AtomicU64::new(self.now()),
            is_closing: AtomicBool::new(false),
            close: Notify::new(),
        });
        open.count(&peer, |count| count.open += 1);
        let number = open.arrivals;
        open.arrivals += 1;
        open.all.insert(number, Arc::clone(&peer));
        drop(open);
        Ok(Entry { peers: Arc::clone(self), number, peer })
    }

    /// Checks the limits for an ordinary connection, and closes idle connections if a limit is reached.
    fn find_room(&self, open: &mut Open, address: Option<Address>) -> Result<(), Full> {
        let of_address = address.and_then(|address| open.of_address.get(&address).copied());
        let has_share = of_address.is_none_or(|count| count.staying() < self.most_of_address);
        if !has_share && !open.make_room(|peer| peer.spare.is_none() && peer.address == address) {
            return Err(Full::Address);
        }
        let is_full = open.ordinary.staying() >= self.most;
        if is_full && !open.make_room(|peer| peer.spare.is_none() && peer.address.is_some()) {
            return Err(Full::All);
        }
        Ok(())
    }

    /// Marks a connection as idle after a response.
    pub(super) fn end(&self, peer: &Peer) {
        peer.idle_since.store(self.now(), Ordering::Relaxed);
        peer.is_busy.store(false, Ordering::Relaxed);
    }

    /// Lets a connection stay open if it has become busy since it was asked to close. Returns true in this case.
    pub(super) fn keeps(&self, peer: &Peer) -> bool {
        let is_busy = peer.is_busy();
        if is_busy {
            self.lock().set_closing(peer, false);
        }
        is_busy
    }

    /// Returns the time since the process started, in milliseconds.
    fn now(&self) -> u64 {
        u64::try_from(self.began.elapsed().as_millis()).unwrap_or(u64::MAX)
    }

    fn lock(&self) -> MutexGuard<'_, Open> {
        self.open.lock()
    }
}

impl Open {
    /// Asks the matching connections that have been idle longest to close: one in [`CLOSED_TOGETHER`], and at least
    /// one. Returns false if no matching connection is idle.
    fn make_room(&mut self, is_among: impl Fn(&Peer) -> bool) -> bool {
        let mut idle: Vec<(u64, u64)> = Vec::new();
        for (number, peer) in &self.all {
            if peer.is_idle() && is_among(peer) {
                idle.push((peer.idle_since.load(Ordering::Relaxed), *number));
            }
        }
        if idle.is_empty() {
            return false;
        }
        let count = idle.len().div_ceil(CLOSED_TOGETHER);
        idle.select_nth_unstable(count - 1);
        for (_, number) in &idle[..count] {
            let Some(peer) = self.all.get(number).map(Arc::clone) else { continue };
            self.set_closing(&peer, true);
            peer.close.notify_one();
        }
        true
    }

    fn set_closing(&mut self, peer: &Peer, is_closing: bool) {
        if peer.is_closing.swap(is_closing, Ordering::Relaxed) != is_closing {
            self.count(peer, |count| if is_closing { count.closing += 1 } else { count.closing -= 1 });
        }
    }

    /// Applies a change to all counts that include a connection.
    fn count(&mut self, peer: &Peer, change: impl Fn(&mut Count)) {
        if peer.spare.is_some() {
            return change(&mut self.spare);
        }
        change(&mut self.ordinary);
        if let Some(address) = peer.address {
            let count = self.of_address.entry(address).or_default();
            change(count);
            if count.open == 0 {
                self.of_address.remove(&address);
            }
        }
    }
}

impl Peer {
    /// Returns the number of request heads that have arrived.
    pub(super) fn heads(&self) -> u64 {
        self.heads.load(Ordering::Relaxed)
    }

    /// Marks the connection as busy, when a head has arrived.
    pub(super) fn begin(&self) {
        self.is_busy.store(true, Ordering::Relaxed);
        self.heads.fetch_add(1, Ordering::Relaxed);
    }

    /// Marks the connection as a WebSocket.
    pub(super) fn become_socket(&self) {
        self.is_socket.store(true, Ordering::Relaxed);
    }

    pub(super) fn is_socket(&self) -> bool {
        self.is_socket.load(Ordering::Relaxed)
    }

    pub(super) fn is_busy(&self) -> bool {
        self.is_busy.load(Ordering::Relaxed)
    }

    /// Marks the connection as one whose buffer a head has enlarged.
    pub(super) fn note_large_head(&self) {
        self.has_large_head.store(true, Ordering::Relaxed);
    }

    pub(super) fn has_large_head(&self) -> bool {
        self.has_large_head.load(Ordering::Relaxed)
    }

    /// Waits until the connection is asked to close.
    pub(super) async fn closing(&self) {
        self.close.notified().await;
    }

    fn is_idle(&self) -> bool {
        !self.is_busy() && !self.is_closing.load(Ordering::Relaxed)
    }
}

impl Drop for Entry {
    fn drop(&mut self) {
        let mut open = self.peers.lock();
        open.set_closing(&self.peer, false);
        open.count(&self.peer, |count| count.open -= 1);
        open.all.remove(&self.number);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn from(last: u8) -> IpAddr {
        [192, 0, 2, last].into()
    }

    #[test]
    fn an_address_at_its_limit_makes_room_among_its_own_connections() {
        let peers = Peers::with(1_000, 3, |_| false);
        let other = peers.enter(Some(from(2))).ok().unwrap();
        let held: Vec<Entry> = (0..3).map(|_| peers.enter(Some(from(1))).ok().unwrap()).collect();
        let fourth = peers.enter(Some(from(1))).ok().unwrap();
        let closing = |entry: &Entry| entry.peer.is_closing.load(Ordering::Relaxed);
        assert_eq!(held.iter().filter(|entry| closing(entry)).count(), 1);
        assert!(!closing(&other) && !closing(&fourth));
        for entry in held.iter().chain([&fourth]) {
            entry.peer.begin();
            // The connection that was asked to close is busy.
            assert!(peers.keeps(&entry.peer));
        }
        let spare = peers.enter(Some(from(1))).ok().unwrap();
        assert_eq!(spare.peer.spare, Some(Full::Address));
        peers.end(&held[2].peer);
        let fifth = peers.enter(Some(from(1))).ok().unwrap();
        assert!(closing(&held[2]) && !peers.keeps(&held[2].peer) && fifth.peer.spare.is_none());
        drop((other, held, fourth, spare, fifth));
        let open = peers.lock();
        let counts = (open.ordinary, open.spare, open.of_address.len(), open.all.len());
        assert_eq!(counts, (Count::default(), Count::default(), 0, 0));
    }

    #[test]
    fn when_all_are_busy_some_are_left_for_rejections_and_proxies_have_no_limit() {
        let peers = Peers::with(4, 2, |peer| peer == from(9));
        let held: Vec<Entry> = (0..4).map(|_| peers.enter(Some(from(9))).ok().unwrap()).collect();
        assert!(held.iter().all(|entry| entry.peer.spare.is_none()));
        // Idle connections of proxies are not closed for others.
        let spare: Vec<Entry> = (0..SPARE).map(|_| peers.enter(Some(from(9))).ok().unwrap()).collect();
        assert!(spare.iter().all(|entry| entry.peer.spare == Some(Full::All)));
        // Idle spare connections are.
        let next = peers.enter(Some(from(9))).ok().unwrap();
        assert_eq!(next.peer.spare, Some(Full::All));
        let is_closing = |entry: &&Entry| entry.peer.is_closing.load(Ordering::Relaxed);
        assert_eq!(spare.iter().filter(is_closing).count(), 1);
        for entry in spare.iter().chain([&next]) {
            entry.peer.begin();
            peers.keeps(&entry.peer);
        }
        assert_eq!(peers.enter(Some(from(9))).err(), Some(Full::All));
        // Nor has a peer on a Unix socket a limit of its own, but it counts as well.
        assert_eq!(peers.enter(None).err(), Some(Full::All));
        drop(held);
        let local: Vec<Entry> = (0..4).map(|_| peers.enter(None).ok().unwrap()).collect();
        assert!(local.iter().all(|entry| entry.peer.spare.is_none()));
        drop(local);
        assert!(peers.enter(Some(from(1))).ok().is_some_and(|entry| entry.peer.spare.is_none()));
    }
}
