//! Examines how far the replicas of a cluster are behind their masters.
//!
//! A replica is read while it has executed everything that its master had executed a few seconds ago. Both report how
//! far they are as an offset in the stream of replication
//! (<https://redis.io/docs/latest/operate/oss_and_stack/management/replication/>), once a second.

use std::collections::{HashMap, VecDeque};
use std::time::Duration;

use futures::future::join_all;
use redis::{FromRedisValue as _, InfoDict};
use tokio::time::{Instant, interval};

use crate::driver::cluster::{Cluster, ask};
use crate::driver::pool::Pool;
use crate::driver::replica::{MOST_LAG, Replica, Replicas, WeakReplicas};
use crate::driver::reply::Replies;
use crate::driver::topology::{self, Node};
use crate::metric;

/// Time between two examinations of all replicas.
const EXAMINED: Duration = Duration::from_secs(1);
/// Command that reports how far a node is.
const REPLICATION: [&str; 2] = ["INFO", "replication"];

/// Examines the replicas of all masters, in the background, until the last handle to them is dropped.
pub(super) fn watch(cluster: &Cluster, replicas: &Replicas) {
    let watch = Watch { cluster: cluster.clone(), offsets: HashMap::new(), pools: HashMap::new() };
    tokio::spawn(watch.run(replicas.downgrade()));
}

/// What a node reports about replication.
struct Report {
    /// The time before the node was asked.
    at: Instant,
    is_master: bool,
    /// True if a replica is connected to its master.
    is_linked: bool,
    /// Identity of the stream of replication, which changes after a failover.
    stream: String,
    offset: u64,
}

impl Report {
    fn read(replies: &Replies, at: Instant) -> Option<Self> {
        let info = InfoDict::from_redis_value(replies.iter().next()?.value().ok()?).ok()?;
        let is_master = info.get::<String>("role")? == "master";
        Some(Self {
            at,
            is_master,
            is_linked: info.get::<String>("master_link_status").is_some_and(|status| status == "up"),
            stream: info.get("master_replid")?,
            offset: info.get(if is_master { "master_repl_offset" } else { "slave_repl_offset" })?,
        })
    }
}

/// The examination of all replicas.
struct Watch {
    cluster: Cluster,
    /// What each master has reported lately, oldest first.
    offsets: HashMap<Node, VecDeque<Report>>,
    pools: HashMap<Node, Pool>,
}

impl Watch {
    async fn run(mut self, replicas: WeakReplicas) {
        let mut turns = interval(EXAMINED);
        loop {
            turns.tick().await;
            let chosen = self.examine().await;
            metric::redis_replicas().set(u32::try_from(chosen.len()).unwrap_or(u32::MAX));
            if !replicas.set(chosen) {
                return;
            }
        }
    }

    /// Returns the replica of each master that is to be read.
    async fn examine(&mut self) -> HashMap<Node, Replica> {
        let masters = self.cluster.topology().masters().to_vec();
        let reports = join_all(masters.iter().map(|master| report(&self.cluster, master))).await;
        self.offsets.retain(|master, _| masters.contains(master));
        for (master, report) in masters.iter().zip(reports) {
            let known = self.offsets.entry(master.clone()).or_default();
            known.extend(report.filter(|report| report.is_master));
            known.retain(|report| report.at.elapsed() < MOST_LAG);
        }
        let replicas = self.replicas(&masters).await;
        self.pools.retain(|node, _| replicas.values().flatten().any(|replica| replica == node));
        let mut pairs = Vec::new();
        for (master, replicas) in replicas {
            pairs.extend(replicas.into_iter().map(|replica| (master.clone(), self.pool(&replica), replica)));
        }
        let examined = pairs.into_iter().map(|(master, pool, node)| self.examine_one(master, node, pool));
        let found = join_all(examined).await;
        let mut chosen: HashMap<Node, Vec<Replica>> = HashMap::new();
        for (master, replica) in found.into_iter().flatten() {
            chosen.entry(master).or_default().push(replica);
        }
        chosen.into_iter().filter_map(|(master, replicas)| Some((master, choose(replicas)?))).collect()
    }

    /// Asks the masters in turn for the replicas of all masters.
    async fn replicas(&self, masters: &[Node]) -> HashMap<Node, Vec<Node>> {
        for master in masters {
            let replies = self.cluster.ask_master(master, &["CLUSTER", "SLOTS"]).await;
            let slots = replies.as_ref().and_then(|replies| replies.iter().next());
            if let Some(replicas) = slots.and_then(|slots| topology::replicas(slots, master)) {
                return replicas;
            }
        }
        HashMap::new()
    }

    fn pool(&mut self, replica: &Node) -> Pool {
        let new = || self.cluster.pool_of_replica(replica);
        self.pools.entry(replica.clone()).or_insert_with(new).clone()
    }

    /// Returns the replica if it is close enough behind its master.
    async fn examine_one(&self, master: Node, node: Node, pool: Pool) -> Option<(Node, Replica)> {
        let at = Instant::now();
        let report = Report::read(&ask(&pool, &REPLICATION).await?, at)?;
        if report.is_master || !report.is_linked {
            return None;
        }
        let has_all = |of: &&Report| of.stream == report.stream && of.offset <= report.offset;
        let caught_up_at = self.offsets.get(&master)?.iter().rev().find(has_all)?.at;
        Some((master, Replica { node, pool, caught_up_at }))
    }
}

async fn report(cluster: &Cluster, master: &Node) -> Option<Report> {
    let at = Instant::now();
    Report::read(&cluster.ask_master(master, &REPLICATION).await?, at)
}

/// Chooses among a master's replicas. A process reads the same replica as long as it can, and other processes others.
fn choose(mut replicas: Vec<Replica>) -> Option<Replica> {
    replicas.sort_by(|one, other| (&one.node.host, one.node.port).cmp(&(&other.node.host, other.node.port)));
    let index = std::process::id() as usize % replicas.len().max(1);
    replicas.into_iter().nth(index)
}
