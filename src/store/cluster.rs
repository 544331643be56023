//! Sends commands to the masters of a Redis Cluster, and keeps track of which master serves which slot.
//!
//! Every node of the cluster knows the topology. It is read when the cluster is opened, from time to time, and whenever a
//! reply or a broken connection shows that it has changed.
//!
//! Not here: how a pipeline is distributed and what a reply means for it (`store::distribution`).
//!
//! # Why not the client of the `redis` crate
//! Its cluster connection rejects pipelines of several slots. One that is aimed at a node is sent again as a whole if any
//! of its commands is redirected.

use std::collections::HashMap;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, RwLock};
use std::time::Duration;

use futures::future::join_all;
use redis::{Client, ConnectionAddr, ConnectionInfo, RedisError, RedisWrite as _};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use crate::store::OpenError;
use crate::store::distribution::{Distribution, Group, Outlook};
use crate::store::encode::{Arguments, Pipeline};
use crate::store::error::Error;
use crate::store::key::Tag;
use crate::store::peer::Peer;
use crate::store::pool::Pool;
use crate::store::reply::Replies;
use crate::store::topology::{Node, Topology, slot};
use crate::store::wire::{Connection, Listener};

/// Time after which a command that is still redirected, or cannot reach its master, fails.
const PATIENCE: Duration = Duration::from_secs(2);
/// Pause before commands are sent again, and its maximum. It doubles each time.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
/// Timeout for one node's answer about the topology.
const ASKED: Duration = Duration::from_millis(500);
/// Age at which the topology is read again without a reason.
const STALE: Duration = Duration::from_secs(30);

/// Connections to all masters of a cluster.
#[derive(Clone)]
pub(super) struct Cluster {
    state: Arc<State>,
    pools: Arc<Mutex<HashMap<Node, Pool>>>,
    /// Number of connections of each lane to each master.
    size: u32,
    /// True if all lanes share the connections.
    is_apart: bool,
}

/// What all sets of connections to one cluster share.
struct State {
    seeds: Vec<ConnectionInfo>,
    /// The runtime that opened the cluster.
    home: Handle,
    known: RwLock<Known>,
    /// Lock held while the topology is read.
    reading: tokio::sync::Mutex<()>,
    is_refreshing: AtomicBool,
    peers: Mutex<HashMap<Node, Arc<Peer>>>,
    /// Number of times the master of the global slot has changed.
    changes: AtomicU64,
}

/// The topology, and the time at which it was read.
#[derive(Clone)]
struct Known {
    topology: Arc<Topology>,
    at: Instant,
}

impl Cluster {
    /// Connects to the cluster of which the seeds are nodes, and reads its topology.
    pub(super) async fn connect(seeds: Vec<ConnectionInfo>, size: u32) -> Result<Self, OpenError> {
        let known = Known { topology: Arc::new(Topology::unknown()), at: Instant::now() };
        let state = State {
            seeds,
            home: Handle::current(),
            known: RwLock::new(known),
            reading: tokio::sync::Mutex::default(),
            is_refreshing: AtomicBool::default(),
            peers: Mutex::default(),
            changes: AtomicU64::default(),
        };
        let cluster = Self { state: Arc::new(state), pools: Arc::default(), size, is_apart: false };
        cluster.read_first().await?;
        Ok(cluster)
    }

    /// Reads the topology from the first seed that answers. Fails with the last seed's cause.
    async fn read_first(&self) -> Result<(), OpenError> {
        let mut failed = None;
        for seed in &self.state.seeds {
            let address = seed.addr().to_string();
            let Some(node) = Node::at(seed.addr()) else { continue };
            let pool = self.pool(&node).map_err(OpenError::Url)?;
            match pool.check().await {
                Ok(()) => match self.ask(&node).await {
                    Some(topology) => {
                        self.state.install(topology);
                        return Ok(());
                    }
                    None => failed = Some(OpenError::NoCluster(address)),
                },
                Err(cause) => failed = Some(OpenError::Connect { address, cause }),
            }
        }
        Err(failed.unwrap_or_else(|| OpenError::NoCluster(String::new())))
    }

    /// Returns a separate set with a single connection to each master, which all lanes share.
    pub(super) fn apart(&self) -> Self {
        Self { pools: Arc::default(), size: 1, is_apart: true, ..self.clone() }
    }

    /// Returns the number of times a server was restarted, replaced or promoted, as far as this process knows.
    pub(super) fn changes(&self) -> u64 {
        let peers = lock(&self.state.peers);
        let restarts: u64 = peers.values().map(|peer| peer.changes()).sum();
        restarts + self.state.changes.load(Ordering::Relaxed)
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> u32 {
        lock(&self.pools).values().map(Pool::connections).sum()
    }

    /// Opens the connections of the current thread's lane to all masters.
    pub(super) async fn open_lane(&self) -> Result<(), RedisError> {
        for master in self.state.topology().masters() {
            self.pool(master)?.open_lane().await?;
        }
        Ok(())
    }

    /// Reads the topology and returns it, or what was known if no node answers.
    pub(super) async fn current_topology(&self) -> Arc<Topology> {
        self.refresh_after(&self.state.topology()).await;
        self.state.topology()
    }

    /// Opens a connection to a node, outside the pools, over which the node pushes messages.
    pub(super) async fn listen(
        &self,
        node: &Node,
        listener: Box<dyn Listener>,
    ) -> Result<Connection, RedisError> {
        let client = self.state.client(node)?;
        Connection::open(client.get_connection_info(), Some(listener)).await
    }

    /// Sends a pipeline to each master, and returns their replies.
    pub(super) async fn ask_all(&self, pipeline: Pipeline) -> Result<Vec<Replies>, Error> {
        let (count, bytes) = (pipeline.len(), pipeline.into_bytes());
        let topology = self.state.topology();
        let asked =
            topology.masters().iter().map(async |master| self.pool(master)?.send(bytes.clone(), count).await);
        join_all(asked).await.into_iter().collect()
    }

    /// Sends a pipeline and waits for its replies. What cannot be answered in time is answered by an error of its own,
    /// unless nothing can.
    pub(super) async fn exchange(&self, pipeline: Pipeline) -> Result<Replies, Error> {
        self.refresh_if_stale();
        let mut distribution = Distribution::of(pipeline);
        let began = Instant::now();
        let mut pause = PAUSE.0;
        loop {
            let topology = self.state.topology();
            let groups = distribution.groups(&topology);
            let sent = join_all(groups.iter().map(|group| self.send(&distribution, group))).await;
            for (group, answered) in groups.iter().zip(sent) {
                distribution.settle(group, answered);
            }
            let Some(outlook) = distribution.outlook().filter(|_| began.elapsed() < PATIENCE) else {
                return distribution.replies();
            };
            match outlook {
                Outlook::Redirected => self.refresh_soon(),
                Outlook::Waits => {
                    sleep(pause).await;
                    pause = (pause * 2).min(PAUSE.1);
                    self.refresh_after(&topology).await;
                }
            }
        }
    }

    async fn send(&self, distribution: &Distribution, group: &Group) -> Result<Replies, Error> {
        let (bytes, count) = distribution.encoded(group);
        self.pool(group.node())?.send(bytes, count).await
    }

    /// Returns the connections to a node.
    fn pool(&self, node: &Node) -> Result<Pool, RedisError> {
        let mut pools = lock(&self.pools);
        if let Some(pool) = pools.get(node) {
            return Ok(pool.clone());
        }
        // Nodes that have left the cluster are not connected to any more.
        let topology = self.state.topology();
        pools.retain(|node, _| topology.masters().contains(node));
        let peer = Arc::clone(lock(&self.state.peers).entry(node.clone()).or_default());
        let pool = Pool::new(self.state.client(node)?, self.size, peer, self.state.home.clone());
        let pool = if self.is_apart { pool.apart() } else { pool };
        pools.insert(node.clone(), pool.clone());
        Ok(pool)
    }

    /// Reads the topology again in the background if it is old.
    fn refresh_if_stale(&self) {
        if self.state.known().at.elapsed() > STALE {
            self.refresh_soon();
        }
    }

    /// Reads the topology again in the background.
    fn refresh_soon(&self) {
        if self.state.is_refreshing.swap(true, Ordering::Relaxed) {
            return;
        }
        let cluster = self.clone();
        self.state.home.spawn(async move {
            let topology = cluster.state.topology();
            cluster.refresh_after(&topology).await;
            cluster.state.is_refreshing.store(false, Ordering::Relaxed);
        });
    }

    /// Reads the topology again, unless another caller has replaced `old` meanwhile.
    async fn refresh_after(&self, old: &Arc<Topology>) {
        let _reading = self.state.reading.lock().await;
        if !Arc::ptr_eq(old, &self.state.topology()) {
            return;
        }
        let seeds = self.state.seeds.iter().filter_map(|seed| Node::at(seed.addr()));
        let nodes: Vec<Node> = old.masters().iter().cloned().chain(seeds).collect();
        // All are asked, because those that do not answer are those that matter here.
        let asked = nodes.iter().map(|node| Box::pin(self.ask(node)));
        let mut found = join_all(asked).await.into_iter().flatten();
        if let Some(topology) = found.find(|topology| topology != &**old) {
            self.state.install(topology);
        } else {
            self.state.confirm();
        }
    }

    /// Asks a node for the topology; `None` if it does not answer in time.
    async fn ask(&self, node: &Node) -> Option<Topology> {
        let mut arguments = Arguments::default();
        for word in ["CLUSTER", "SLOTS"] {
            arguments.write_arg(word.as_bytes());
        }
        let pipeline = Pipeline::of(&arguments, None);
        let sent = self.pool(node).ok()?;
        let replies = timeout(ASKED, sent.send(pipeline.into_bytes(), 1)).await.ok()?.ok()?;
        Topology::read(replies.iter().next()?, node)
    }
}

impl State {
    fn known(&self) -> Known {
        self.known.read().unwrap_or_else(PoisonError::into_inner).clone()
    }

    fn topology(&self) -> Arc<Topology> {
        self.known().topology
    }

    fn install(&self, topology: Topology) {
        let global = slot(Tag::Global);
        let mut known = self.known.write().unwrap_or_else(PoisonError::into_inner);
        let (old, new) = (known.topology.owner(global), topology.owner(global));
        if old.is_some() && old != new {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        tracing::info!(masters = topology.masters().len(), "the topology of the Redis Cluster was read");
        *known = Known { topology: Arc::new(topology), at: Instant::now() };
    }

    /// Notes that the topology has not changed.
    fn confirm(&self) {
        self.known.write().unwrap_or_else(PoisonError::into_inner).at = Instant::now();
    }

    /// Returns a client of a node, with the settings of the seeds.
    fn client(&self, node: &Node) -> Result<Client, RedisError> {
        let Node { host, port } = node.clone();
        let info = self.seeds[0].clone();
        let address = match info.addr() {
            ConnectionAddr::TcpTls { insecure, tls_params, .. } => {
                ConnectionAddr::TcpTls { host, port, insecure: *insecure, tls_params: tls_params.clone() }
            }
            _ => ConnectionAddr::Tcp(host, port),
        };
        Client::open(info.set_addr(address))
    }
}

fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}
