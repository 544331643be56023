//! Pools connections to one Redis server.
//!
//! # Why clones of connections
//! A [`Connection`] serves many batches at once. It sends each batch in one piece and receives the replies in
//! order, so no caller needs an exclusive connection. The pool keeps a few connections open and hands out
//! clones.

use std::fmt;
use std::sync::atomic::{AtomicBool, Ordering};
use std::sync::{Arc, OnceLock};
use std::time::Duration;

use bb8_redis::bb8::{self, ManageConnection, RunError};
use bytes::Bytes;
use redis::{Client, ConnectionInfo, RedisError};
use tokio::runtime::Handle;
use tokio::time::timeout;

use crate::driver::encode::Pipeline;
use crate::driver::error::Error;
use crate::driver::error::OpenError;
use crate::driver::peer::Peer;
use crate::driver::reply::Replies;
use crate::driver::sentinel::{self, Sentinel};
use crate::driver::wire::{Connection, Listener};
use crate::worker;

/// Default timeout for obtaining a usable connection.
const CONNECT: Duration = Duration::from_secs(2);
/// Timeout for all attempts at a batch. Writers rely on this bound (`app::deadline`).
pub(super) const EXCHANGE: Duration = Duration::from_secs(20);

/// Where a server is.
#[derive(Clone, Debug)]
pub(super) enum Server {
    /// At this address.
    At(Arc<ConnectionInfo>),
    /// A replica at this address, in a cluster.
    Replica(Arc<ConnectionInfo>),
    /// Where Sentinel says that the master is.
    Watched(Arc<Sentinel>),
}

impl fmt::Display for Server {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::At(info) | Self::Replica(info) => write!(formatter, "{}", info.addr()),
            Self::Watched(sentinel) => formatter.write_str(&sentinel.addresses()),
        }
    }
}

impl Server {
    /// Returns the server's address, and the settings of connections to it.
    async fn find(&self) -> Result<ConnectionInfo, RedisError> {
        match self {
            Self::At(info) | Self::Replica(info) => Ok(ConnectionInfo::clone(info)),
            Self::Watched(sentinel) => sentinel.master().await,
        }
    }

    async fn open(&self, listener: Option<Box<dyn Listener>>) -> Result<Connection, RedisError> {
        let info = self.find().await?;
        let Self::Watched(sentinel) = self else {
            let connection = Connection::open(&info, listener).await?;
            if matches!(self, Self::Replica(_)) {
                // Without this command, a replica redirects all readers to its master.
                connection.query(redis::pipe().cmd("READONLY")).await?;
            }
            return Ok(connection);
        };
        let opened = async {
            let connection = Connection::open(&info, listener).await?;
            sentinel::check_role(&connection).await.map(|()| connection)
        };
        let opened = opened.await;
        if opened.is_err() {
            sentinel.skip();
        }
        opened
    }
}

/// What keeps values that are read over tracking connections.
pub(crate) trait Tracker: Send + Sync {
    /// Begins anew over a new connection to the server of this generation. Returns the listener of that connection, to
    /// which the server pushes the keys that change.
    fn listen(&self, generation: u64) -> Box<dyn Listener>;
}

/// A pool of connections, each replaced when it breaks. Each lane has connections of its own, since the tasks of
/// connections run on the thread that opens them.
#[derive(Clone)]
pub(crate) struct Pool {
    server: Server,
    /// Timeout for obtaining a usable connection.
    connect: Duration,
    /// Number of connections of each lane.
    size: u32,
    lanes: Arc<[OnceLock<Links>]>,
    peer: Arc<Peer>,
    /// The runtime that opened the pool. It runs the connections that several threads share.
    home: Handle,
    /// What tracks the keys that are read over these connections, if anything does.
    tracker: Option<Arc<dyn Tracker>>,
}

type Links = bb8::Pool<Manager>;

impl Pool {
    /// Creates a pool, after connecting once so that a wrong address fails immediately, with its full cause.
    pub(super) async fn connect(server: Server, size: u32) -> Result<Self, OpenError> {
        let address = server.to_string();
        let pool = Self::new(server, size, Arc::default(), Handle::current());
        pool.check().await.map_err(|cause| OpenError::Connect { address, cause })?;
        Ok(pool)
    }

    /// Creates a pool of `size` connections for each lane. Those that all lanes share run on the runtime `home`.
    pub(super) fn new(server: Server, size: u32, peer: Arc<Peer>, home: Handle) -> Self {
        Self { server, connect: CONNECT, size, lanes: lanes(worker::MOST + 1), peer, home, tracker: None }
    }

    /// Returns the same pool with another timeout for obtaining a connection.
    pub(super) fn within(self, connect: Duration) -> Self {
        Self { connect, ..self }
    }

    /// Connects once.
    pub(super) async fn check(&self) -> Result<(), RedisError> {
        self.manager(0).connect().await.map(drop)
    }

    /// Returns the connections of the current thread's lane. Opens them on first use.
    fn links(&self) -> &Links {
        let lane = worker::lane().min(self.lanes.len() - 1);
        self.lanes[lane].get_or_init(|| {
            bb8::Pool::builder()
                .max_size(self.size)
                .min_idle(self.size)
                .connection_timeout(self.connect)
                .test_on_check_out(false)
                .idle_timeout(None)
                .max_lifetime(None)
                .build_unchecked(self.manager(lane))
        })
    }

    fn manager(&self, lane: usize) -> Manager {
        let home = (lane == 0).then(|| self.home.clone());
        Manager {
            server: self.server.clone(),
            peer: Arc::clone(&self.peer),
            home,
            tracker: self.tracker.clone(),
        }
    }

    /// Returns the state of the server.
    pub(crate) fn peer(&self) -> &Arc<Peer> {
        &self.peer
    }

    /// Returns a client of the server, which creates connections outside the pool.
    pub(crate) async fn client(&self) -> Result<Client, RedisError> {
        Client::open(self.server.find().await?)
    }

    /// Returns a separate pool with a single connection to the same server, which all lanes share.
    pub(super) fn apart(&self) -> Self {
        Self { size: 1, lanes: lanes(1), ..self.clone() }
    }

    /// Returns a separate pool with a single connection for all lanes, over which the server tracks the keys that
    /// are read. Connects once, so that a server that cannot track keys is rejected.
    pub(crate) async fn tracking(&self, tracker: Arc<dyn Tracker>) -> Result<Self, RedisError> {
        let pool = Self { size: 1, lanes: lanes(1), tracker: Some(tracker), ..self.clone() };
        pool.check().await.map(|()| pool)
    }

    /// Returns the number of times the server was restarted or replaced by another server.
    pub(super) fn changes(&self) -> u64 {
        self.peer.changes()
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> u32 {
        self.lanes.iter().filter_map(OnceLock::get).map(|links| links.state().connections).sum()
    }

    /// Sends a pipeline and waits for its replies.
    ///
    /// Retries if the connection turns out to be dead: a restart of Redis breaks all connections. Every
    /// command is safe to repeat.
    pub(super) async fn exchange(&self, pipeline: Pipeline) -> Result<Replies, Error> {
        let (count, bytes) = (pipeline.len(), pipeline.into_bytes());
        let exchanged = timeout(EXCHANGE, self.send(bytes, count)).await;
        exchanged.unwrap_or_else(|_elapsed| Err(Error::no_answer().into()))
    }

    /// The same for encoded commands, of which there are `count`, and without a timeout for all attempts.
    pub(super) async fn send(&self, pipeline: Bytes, count: usize) -> Result<Replies, Error> {
        let mut dead = 0;
        loop {
            let link = self.link().await?;
            let answered = link.connection.send(pipeline.clone(), count).await;
            let error = match answered {
                Ok(replies) => {
                    self.peer.judge(&replies, link.generation);
                    return Ok(replies);
                }
                Err(error) => error,
            };
            // The network rather than Redis may have caused a timeout: replace the connection.
            link.broken.store(true, Ordering::Relaxed);
            if !error.is_connection_dropped() || dead == self.size {
                return Err(error.into());
            }
            dead += 1;
        }
    }

    /// Opens the connections of the current thread's lane.
    pub(super) async fn open_lane(&self) -> Result<(), RedisError> {
        self.link().await.map(drop)
    }

    /// Returns a connection that is not known to be broken. Returns broken connections to the pool, whose
    /// `has_broken` check replaces them.
    async fn link(&self) -> Result<Link, RedisError> {
        loop {
            let link = self.links().get().await.map_err(|error| match error {
                RunError::User(error) => error,
                RunError::TimedOut => Error::no_answer(),
            })?;
            if !link.is_to_be_replaced(&self.peer) {
                return Ok(link.clone());
            }
        }
    }
}

/// Runs a future as a task of a runtime; without one, in place.
async fn run_at<T: Send + 'static>(
    runtime: Option<&Handle>,
    future: impl Future<Output = Result<T, RedisError>> + Send + 'static,
) -> Result<T, RedisError> {
    match runtime {
        Some(runtime) => runtime.spawn(future).await.unwrap_or_else(|_ended| Err(Error::no_answer())),
        None => future.await,
    }
}

fn lanes(count: usize) -> Arc<[OnceLock<Links>]> {
    (0..count).map(|_| OnceLock::new()).collect()
}

/// A connection and its known state.
#[derive(Clone)]
pub(super) struct Link {
    connection: Connection,
    broken: Arc<AtomicBool>,
    /// The peer's generation when the connection was opened.
    generation: u64,
}

impl Link {
    fn is_to_be_replaced(&self, peer: &Peer) -> bool {
        self.broken.load(Ordering::Relaxed)
            || self.connection.is_broken()
            || self.generation != peer.generation()
    }
}

/// The pool's connection factory, which sets timeouts.
pub(super) struct Manager {
    server: Server,
    peer: Arc<Peer>,
    /// The runtime that runs the connections; `None` for the caller's.
    home: Option<Handle>,
    tracker: Option<Arc<dyn Tracker>>,
}

impl ManageConnection for Manager {
    type Connection = Link;
    type Error = RedisError;

    async fn connect(&self) -> Result<Link, RedisError> {
        // Read before connecting, so that a connection made during a replacement is itself replaced.
        let generation = self.peer.generation();
        let listener = self.tracker.as_ref().map(|tracker| tracker.listen(generation));
        let server = self.server.clone();
        // The timeout is part of the task, so that a task does not outlive its caller by more.
        let connecting = async move {
            let opened = timeout(CONNECT, server.open(listener)).await;
            opened.unwrap_or_else(|_elapsed| Err(Error::no_answer()))
        };
        let connection = run_at(self.home.as_ref(), connecting).await?;
        self.peer.identify(&connection).await;
        Ok(Link { connection, broken: Arc::default(), generation })
    }

    async fn is_valid(&self, link: &mut Link) -> Result<(), RedisError> {
        link.connection.query(redis::pipe().cmd("PING")).await.map(drop)
    }

    fn has_broken(&self, link: &mut Link) -> bool {
        link.is_to_be_replaced(&self.peer)
    }
}
