//! Sends commands to the masters of a Redis Cluster, and keeps track of which master serves which slot.
//!
//! Every node of the cluster knows the topology. It is read when the cluster is opened, from time to time, and whenever
//! a reply or a broken connection shows that it has changed.
//!
//! Not here: how a pipeline is distributed and what a reply means for it (`driver::distribution`), and what is known of
//! the topology (`driver::known`).
//!
//! # Why not the client of the `redis` crate
//! Its cluster connection rejects pipelines of several slots. One that is aimed at a node is retried as a whole if any
//! of its commands is redirected.

use std::collections::{HashMap, HashSet};
use std::io::{self, ErrorKind};
use std::pin::{Pin, pin};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::Duration;

use futures::future::join_all;
use parking_lot::Mutex;
use redis::{ConnectionInfo, RedisError, RedisWrite as _};
use tokio::runtime::Handle;
use tokio::time::{Instant, sleep, timeout};

use crate::driver::distribution::{Distribution, Group, Outlook};
use crate::driver::encode::{Arguments, Pipeline};
use crate::driver::error::Error;
use crate::driver::error::OpenError;
use crate::driver::known::{self, Known};
use crate::driver::metric;
use crate::driver::peer::Peer;
use crate::driver::pool::{EXCHANGE, Pool, Server};
use crate::driver::replica::{PATIENCE, Replicas};
use crate::driver::reply::{Replies, Reply};
use crate::driver::topology::{Node, Topology};
use crate::driver::wire::{self, Connection, Listener};

/// Time after which a command that is still redirected fails, and time since which a master must have been unreachable
/// for a command to fail at its first attempt.
const TIMEOUT: Duration = Duration::from_secs(2);
/// Timeout for obtaining a connection to a node. Shorter than for a single server, because a batch waits for all nodes.
const CONNECT: Duration = Duration::from_millis(500);
/// Time between two attempts to reach a master that has been unreachable for longer.
const TRIED: Duration = Duration::from_millis(250);
/// Pause before a retry, and its maximum. It doubles each time.
const PAUSE: (Duration, Duration) = (Duration::from_millis(10), Duration::from_millis(200));
/// Timeout for connecting to a node, and for its answer about the topology.
const ASKED: Duration = Duration::from_secs(1);
/// Age of the topology at which it is not read again.
const FRESH: Duration = Duration::from_millis(50);
/// Time after which the topology is read again because a node has not replied, in case another node has taken over.
/// Longer than a worker blocks for a job.
const SILENT: Duration = Duration::from_millis(2_500);
/// Age at which the topology is read again without a reason.
const STALE: Duration = Duration::from_secs(30);

/// Connections to all masters of a cluster.
#[derive(Clone)]
pub(crate) struct Cluster {
    state: Arc<State>,
    pools: Arc<Mutex<HashMap<Node, Pool>>>,
    /// Number of connections of each lane to each master.
    size: u32,
    /// True if all lanes share the connections.
    is_apart: bool,
    /// The replicas to read; `None` if only masters are read.
    replicas: Option<Replicas>,
}

/// What all sets of connections to one cluster share.
struct State {
    seeds: Vec<ConnectionInfo>,
    /// The runtime that opened the cluster.
    home: Handle,
    known: Known,
    /// Lock held while the topology is read.
    reading: tokio::sync::Mutex<()>,
    is_refreshing: AtomicBool,
    peers: Mutex<HashMap<Node, Arc<Peer>>>,
}

impl Cluster {
    /// Connects to the cluster of which the seeds are nodes, and reads its topology. Watches the master of a slot.
    pub(super) async fn connect(
        seeds: Vec<ConnectionInfo>,
        size: u32,
        watched: u16,
    ) -> Result<Self, OpenError> {
        let state = State {
            seeds,
            home: Handle::current(),
            known: Known::new(watched),
            reading: tokio::sync::Mutex::default(),
            is_refreshing: AtomicBool::default(),
            peers: Mutex::default(),
        };
        let state = Arc::new(state);
        let cluster = Self { state, pools: Arc::default(), size, is_apart: false, replicas: None };
        cluster.read_first().await?;
        Ok(cluster)
    }

    /// Returns the same connections, to the masters of which replicas are read as well.
    pub(super) fn reading(self, replicas: Replicas) -> Self {
        Self { replicas: Some(replicas), ..self }
    }

    /// Reads the topology from the first seed that answers. Fails with the last seed's cause.
    async fn read_first(&self) -> Result<(), OpenError> {
        let mut failed = None;
        for seed in &self.state.seeds {
            let address = seed.addr().to_string();
            let Some(node) = Node::at(seed.addr()) else { continue };
            let pool = self.pool(&node);
            match pool.check().await {
                Ok(()) => match self.ask(&node).await {
                    Some(topology) => {
                        self.state.known.install(Some(topology));
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
        Self { pools: Arc::default(), size: 1, is_apart: true, replicas: None, ..self.clone() }
    }

    /// Returns the number of times a server was restarted, replaced or promoted, as far as this process knows.
    pub(super) fn changes(&self) -> u64 {
        let peers = self.state.peers.lock();
        let restarts: u64 = peers.values().map(|peer| peer.changes()).sum();
        restarts + self.state.known.changes()
    }

    /// Returns the number of open connections.
    pub(super) fn connections(&self) -> u32 {
        self.pools.lock().values().map(Pool::connections).sum()
    }

    /// Returns the masters, and whether each was reached when it was last tried.
    pub(super) fn masters(&self) -> Vec<(Node, bool)> {
        let topology = self.state.known.topology();
        let is_up = |node: &Node| self.outage_of(node).is_zero();
        topology.masters().iter().map(|node| (node.clone(), is_up(node))).collect()
    }

    /// Opens the connections of the current thread's lane to all masters.
    pub(super) async fn open_lane(&self) -> Result<(), RedisError> {
        for master in self.state.known.topology().masters() {
            self.pool(master).open_lane().await?;
        }
        Ok(())
    }

    /// Returns true if replicas are read.
    pub(super) fn reads_replicas(&self) -> bool {
        self.replicas.is_some()
    }

    /// Returns the topology, as far as it is known.
    pub(super) fn topology(&self) -> Arc<Topology> {
        self.state.known.topology()
    }

    /// Reads the topology again. Callers at the same time share a read.
    pub(super) async fn refresh(&self) {
        let asked_at = Instant::now();
        let _reading = self.state.reading.lock().await;
        if self.state.known.read_at() >= asked_at {
            return;
        }
        let topology = self.state.known.topology();
        let mut reported = self.ask_each(topology.masters()).await;
        if reported.len() <= topology.masters().len() / 2 {
            reported.extend(self.ask_each(&self.seeds()).await);
        }
        self.state.known.install(known::most_frequent(reported, &topology));
    }

    /// Opens a connection to a node, outside the pools, over which the node pushes messages.
    pub(super) async fn listen(
        &self,
        node: &Node,
        listener: Box<dyn Listener>,
    ) -> Result<Connection, RedisError> {
        Connection::open(&self.state.info(node), Some(listener)).await
    }

    /// Sends a pipeline to each master, and returns the replies of each.
    pub(super) async fn ask_all(&self, pipeline: Pipeline) -> Vec<Result<Replies, Error>> {
        let (count, bytes) = (pipeline.len(), pipeline.into_bytes());
        let topology = self.state.known.topology();
        let ask = async |master| in_time(self.pool(master).send(bytes.clone(), count)).await;
        join_all(topology.masters().iter().map(ask)).await
    }

    /// Returns true if most masters respond within a second.
    pub(super) async fn mostly_responds(&self) -> bool {
        let topology = self.state.known.topology();
        let ping = async |node| {
            let ping = Pipeline::of(&words(&["PING"]), None).into_bytes();
            let replies = timeout(ASKED, self.pool(node).send(ping, 1)).await.ok()?.ok()?;
            replies.iter().next()?.check().ok()
        };
        let pinged = join_all(topology.masters().iter().map(ping)).await;
        2 * pinged.iter().flatten().count() > pinged.len()
    }

    /// Sends a pipeline and waits for its replies. What cannot be answered in time is answered by an error of its own.
    pub(super) async fn exchange(&self, pipeline: Pipeline) -> Result<Replies, Error> {
        self.refresh_if_stale();
        in_time(self.distribute(Distribution::of(pipeline))).await
    }

    async fn distribute(&self, mut distribution: Distribution) -> Result<Replies, Error> {
        let began = Instant::now();
        let mut pause = PAUSE.0;
        if let Some(replicas) = &self.replicas {
            let topology = self.state.known.topology();
            distribution.prefer_replicas(|slot| replicas.of(topology.owner(slot)?));
        }
        loop {
            let topology = self.state.known.topology();
            let groups = distribution.groups(&topology);
            let sent = join_all(groups.iter().map(|group| self.send(&distribution, group))).await;
            for (group, (answered, may_retry)) in groups.iter().zip(sent) {
                if answered.is_err() && !group.is_replica() {
                    // Even if there is no time left for another attempt: the next caller profits.
                    self.refresh_soon();
                }
                for (slot, node) in distribution.settle(group, answered, may_retry) {
                    self.state.known.note_owner(slot, node);
                    self.refresh_soon();
                }
            }
            let Some(outlook) = distribution.outlook().filter(|_| began.elapsed() < TIMEOUT) else {
                return Ok(distribution.replies());
            };
            if outlook == Outlook::LacksMaster {
                self.refresh_soon();
            }
            if outlook != Outlook::Continues {
                sleep(pause).await;
                pause = (pause * 2).min(PAUSE.1);
            }
        }
    }

    /// Sends a group's commands to its node. Gives up if the node ceases to be a master. Also returns false if the node
    /// has been unreachable for so long that the commands are not retried.
    async fn send(&self, distribution: &Distribution, group: &Group) -> (Result<Replies, Error>, bool) {
        if let Some(replicas) = self.replicas.as_ref().filter(|_| group.is_replica()) {
            return (send_to_replica(replicas, distribution, group).await, true);
        }
        let pool = self.pool(group.node());
        let outage = pool.peer().outage();
        if !outage.may_try(TIMEOUT, TRIED) {
            return (Err(unreachable()), false);
        }
        let (bytes, count) = distribution.encoded(group);
        let began = Instant::now();
        let answered = self.await_reply(group.node(), pin!(pool.send(bytes, count))).await;
        if answered.is_ok() {
            metric::node_answered(group.node(), began.elapsed());
        }
        outage.note(answered.as_ref().is_ok_and(|replies| !replies.iter().all(is_of_failover)));
        (answered, outage.duration() < TIMEOUT)
    }

    async fn await_reply(
        &self,
        node: &Node,
        mut reply: Pin<&mut impl Future<Output = Result<Replies, Error>>>,
    ) -> Result<Replies, Error> {
        loop {
            if let Ok(answered) = timeout(SILENT, reply.as_mut()).await {
                return answered;
            }
            self.refresh_soon();
            if !self.state.known.topology().masters().contains(node) {
                return Err(unreachable());
            }
        }
    }

    /// Returns the time for which a node has been unreachable.
    fn outage_of(&self, node: &Node) -> Duration {
        self.pool(node).peer().outage().duration()
    }

    /// Returns the connections to a node.
    fn pool(&self, node: &Node) -> Pool {
        let mut pools = self.pools.lock();
        if let Some(pool) = pools.get(node) {
            return pool.clone();
        }
        // Nodes that have left the cluster are not connected to any more.
        let nodes = self.nodes();
        pools.retain(|node, _| nodes.contains(node));
        let peer = Arc::clone(self.state.peers.lock().entry(node.clone()).or_default());
        let server = Server::At(Arc::new(self.state.info(node)));
        let pool = Pool::new(server, self.size, peer, self.state.home.clone()).within(CONNECT);
        let pool = if self.is_apart { pool.apart() } else { pool };
        pools.insert(node.clone(), pool.clone());
        pool
    }

    /// Reads the topology again in the background if it is old.
    fn refresh_if_stale(&self) {
        if self.state.known.read_at().elapsed() > STALE {
            self.refresh_soon();
        }
    }

    /// Reads the topology again in the background, unless that is under way or has just been done.
    fn refresh_soon(&self) {
        let is_fresh = self.state.known.read_at().elapsed() < FRESH;
        if is_fresh || self.state.is_refreshing.swap(true, Ordering::Relaxed) {
            return;
        }
        let cluster = self.clone();
        self.state.home.spawn(async move {
            cluster.refresh().await;
            cluster.state.is_refreshing.store(false, Ordering::Relaxed);
        });
    }

    /// Asks nodes for the topology. Leaves out those that do not respond in time.
    async fn ask_each(&self, nodes: &[Node]) -> Vec<Topology> {
        let asked = nodes.iter().map(|node| Box::pin(self.ask(node)));
        join_all(asked).await.into_iter().flatten().collect()
    }

    /// Returns the nodes that the operator has named.
    fn seeds(&self) -> Vec<Node> {
        self.state.seeds.iter().filter_map(|seed| Node::at(seed.addr())).collect()
    }

    /// Returns the masters, and the nodes that the operator has named.
    fn nodes(&self) -> HashSet<Node> {
        self.state.known.topology().masters().iter().cloned().chain(self.seeds()).collect()
    }

    /// Asks a node for the topology; `None` if it does not answer in time.
    async fn ask(&self, node: &Node) -> Option<Topology> {
        let replies = ask(&self.pool(node), &["CLUSTER", "SLOTS"]).await?;
        Topology::read(replies.iter().next()?, node)
    }

    /// Asks a master something about replication; `None` if it does not answer in time.
    pub(super) async fn ask_master(&self, master: &Node, command: &[&str]) -> Option<Replies> {
        ask(&self.pool(master), command).await
    }

    /// Creates connections to a replica.
    pub(super) fn pool_of_replica(&self, replica: &Node) -> Pool {
        let server = Server::Replica(Arc::new(self.state.info(replica)));
        Pool::new(server, self.size, Arc::default(), self.state.home.clone()).within(CONNECT)
    }
}

impl State {
    /// Returns a node's address, with the settings of the seeds.
    fn info(&self, node: &Node) -> ConnectionInfo {
        wire::at(&self.seeds[0], node.host.clone(), node.port)
    }
}

/// Sends a group's commands to its replica, which is not read for a while if it does not answer in time.
async fn send_to_replica(
    replicas: &Replicas,
    distribution: &Distribution,
    group: &Group,
) -> Result<Replies, Error> {
    let (bytes, count) = distribution.encoded(group);
    let answered = match replicas.pool(group.node()) {
        Some(pool) => timeout(PATIENCE, pool.send(bytes, count)).await.ok().and_then(Result::ok),
        None => None,
    };
    if answered.is_none() {
        replicas.forget(group.node());
    }
    answered.ok_or_else(unreachable)
}

/// Fails if an exchange takes too long.
async fn in_time(exchange: impl Future<Output = Result<Replies, Error>>) -> Result<Replies, Error> {
    timeout(EXCHANGE, exchange).await.unwrap_or_else(|_elapsed| Err(Error::no_answer().into()))
}

/// Sends one command without keys; `None` if the node does not answer in time.
pub(super) async fn ask(pool: &Pool, command: &[&str]) -> Option<Replies> {
    let pipeline = Pipeline::of(&words(command), None);
    timeout(ASKED, pool.send(pipeline.into_bytes(), 1)).await.ok()?.ok()
}

/// Returns true if a reply shows that the node does not serve the slot at the moment.
fn is_of_failover(reply: Reply<'_>) -> bool {
    matches!(reply.error_code(), Some(b"CLUSTERDOWN" | b"LOADING" | b"MASTERDOWN"))
}

/// Creates the error for a node that cannot be reached.
fn unreachable() -> Error {
    RedisError::from(io::Error::from(ErrorKind::ConnectionReset)).into()
}

fn words(words: &[&str]) -> Arguments {
    let mut arguments = Arguments::default();
    for word in words {
        arguments.write_arg(word.as_bytes());
    }
    arguments
}
