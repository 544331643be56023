//! A Redis Cluster for one test.

use std::time::Duration;

use redis::{ErrorKind, RedisResult, ServerErrorKind, Value};

use crate::harness::instance::Instance;
use crate::harness::port::on_free_ports;
use crate::harness::proxy::Proxy;
use crate::harness::wait::eventually;

/// Number of slots of a cluster.
const SLOTS: usize = 16_384;

/// A cluster of which every node is a process. Its masters have equal shares of the slots.
pub(crate) struct Cluster {
    pub(crate) nodes: Vec<Node>,
    masters: usize,
}

/// A node of a cluster.
pub(crate) struct Node {
    pub(crate) redis: Instance,
    /// The port that the cluster names: that of the proxy, if the node is behind one.
    pub(crate) port: u16,
    proxy: Option<Proxy>,
    options: Vec<String>,
}

impl Node {
    fn start(options: &[&str], is_behind_proxy: bool) -> Self {
        on_free_ports(|ports| Self::start_if_free(ports, options, is_behind_proxy))
    }

    /// Starts a node on the first of these ports, and its bus on the second. Returns `None` if one of them is in use.
    fn start_if_free([own, bus]: [u16; 2], options: &[&str], is_behind_proxy: bool) -> Option<Self> {
        let proxy = is_behind_proxy.then(|| Proxy::before(own));
        let port = proxy.as_ref().map_or(own, |proxy| proxy.port);
        let [own, bus, announced] = [own, bus, port].map(|port| port.to_string());
        let own = [
            ["--port", &own],
            ["--cluster-port", &bus],
            ["--cluster-announce-port", &announced],
            ["--cluster-announce-bus-port", &bus],
            ["--cluster-enabled", "yes"],
        ]
        .concat();
        // A quick failover, and no need for a majority of replicas.
        let more =
            ["--cluster-node-timeout", "2000", "--repl-diskless-sync-delay", "0", "--bind", "127.0.0.1"];
        let fixed = ["--cluster-allow-replica-migration", "no"];
        let options = [&own[..], &more, &fixed, options].concat();
        let redis = Instance::start_if_free(&options)?;
        Some(Self { redis, port, proxy, options: options.into_iter().map(str::to_owned).collect() })
    }

    /// Returns the proxy before the node, in a cluster behind proxies.
    pub(crate) fn proxy(&self) -> &Proxy {
        self.proxy.as_ref().expect("the cluster is behind proxies")
    }

    /// Starts the node again, after it was killed, with the files that it has left.
    pub(crate) fn restart(&mut self) {
        let options: Vec<&str> = self.options.iter().map(String::as_str).collect();
        self.redis.restart(&options);
    }

    pub(crate) fn id(&self) -> String {
        self.redis.raw(&["CLUSTER", "MYID"])
    }

    fn is_master(&self) -> bool {
        self.redis.raw::<String>(&["INFO", "replication"]).contains("role:master")
    }

    fn is_ready(&self, nodes: usize) -> bool {
        let info: String = self.redis.raw(&["CLUSTER", "INFO"]);
        let is = |line: String| info.lines().any(|other| other == line);
        is("cluster_state:ok".to_owned()) && is(format!("cluster_known_nodes:{nodes}"))
    }
}

impl Cluster {
    /// Starts a cluster of this number of masters, each with `replicas` replicas. Masters come first among the nodes.
    pub(crate) fn start(masters: usize, replicas: usize) -> Self {
        Self::start_with(masters, replicas, &[])
    }

    /// The same, with more options of each server.
    pub(crate) fn start_with(masters: usize, replicas: usize, options: &[&str]) -> Self {
        Self::form(masters, (0..masters * (1 + replicas)).map(|_| Node::start(options, false)).collect())
    }

    /// The same, with a proxy before each node, through which clients and replicas connect to it.
    pub(crate) fn start_behind_proxies(masters: usize, replicas: usize, options: &[&str]) -> Self {
        Self::form(masters, (0..masters * (1 + replicas)).map(|_| Node::start(options, true)).collect())
    }

    /// Makes a cluster of nodes that know nothing of each other.
    fn form(masters: usize, nodes: Vec<Node>) -> Self {
        let cluster = Self { nodes, masters };
        for (index, node) in cluster.nodes.iter().enumerate() {
            node.redis.raw::<()>(&["CLUSTER", "SET-CONFIG-EPOCH", &(index + 1).to_string()]);
            let port = cluster.nodes[0].port.to_string();
            let bus: u64 = config(&cluster.nodes[0].redis, "cluster-port").parse().unwrap();
            if index > 0 {
                node.redis.raw::<()>(&["CLUSTER", "MEET", "127.0.0.1", &port, &bus.to_string()]);
            }
            if index < masters {
                let [first, last] = [index, index + 1].map(|share| share * SLOTS / masters);
                let range = ["CLUSTER", "ADDSLOTSRANGE", &first.to_string(), &(last - 1).to_string()];
                node.redis.raw::<()>(&range);
            }
        }
        cluster.wait_until(|node| node.is_ready(cluster.nodes.len()));
        for (index, replica) in cluster.nodes.iter().enumerate().skip(masters) {
            replica.redis.raw::<()>(&["CLUSTER", "REPLICATE", &cluster.nodes[index % masters].id()]);
        }
        cluster.wait_until(|node| {
            let state: String = node.redis.raw(&["INFO", "replication"]);
            state.contains("role:master") || state.contains("master_link_status:up")
        });
        if cluster.nodes.len() == masters {
            // No replica waits to take over, so a node that is slow need not count as dead.
            for node in &cluster.nodes {
                node.redis.raw::<()>(&["CONFIG", "SET", "cluster-node-timeout", "20000"]);
            }
        }
        cluster
    }

    /// Waits until all nodes satisfy a condition.
    fn wait_until(&self, mut is_true: impl FnMut(&Node) -> bool) {
        assert!(eventually(|| self.nodes.iter().all(&mut is_true)), "the nodes agree");
    }

    /// Waits until a replica of the master at this port has received all that the master has sent.
    pub(crate) fn wait_for_replica_of(&self, port: u16) {
        let master = self.nodes.iter().find(|node| node.port == port).unwrap();
        let has_all = || {
            let state: redis::InfoDict = master.redis.raw(&["INFO", "replication"]);
            let offset: u64 = state.get("master_repl_offset").unwrap();
            let replica: String = state.get("slave0").unwrap_or_default();
            replica.contains("state=online") && replica.contains(&format!(",offset={offset},"))
        };
        assert!(eventually(has_all), "the replica of {port} follows its master");
    }

    /// Waits until every slot has a master among these nodes, according to each of them.
    pub(crate) fn wait_for_owners(&self) {
        let is_here = |line: &str| {
            let port = line.split([':', '@']).nth(1).and_then(|port| port.parse().ok());
            self.nodes.iter().any(|node| Some(node.port) == port)
        };
        self.wait_until(|node| {
            let nodes: String = node.redis.raw(&["CLUSTER", "NODES"]);
            // A line ends with the slots that a master serves, whether or not it is suspected to have failed.
            let has_slots = |line: &&str| line.split(' ').nth(8).is_some();
            let state: String = node.redis.raw(&["CLUSTER", "INFO"]);
            state.contains("cluster_state:ok") && nodes.lines().filter(has_slots).all(is_here)
        });
    }

    pub(crate) fn url(&self) -> String {
        let hosts: Vec<String> = self.nodes.iter().map(|node| format!("127.0.0.1:{}", node.port)).collect();
        format!("redis-cluster://{}", hosts.join(","))
    }

    /// Returns the position of the node that was given a key's slot when the cluster was started.
    pub(crate) fn share_of(&self, key: &str) -> usize {
        let slot: usize = self.nodes[0].redis.raw(&["CLUSTER", "KEYSLOT", key]);
        (0..self.masters).rfind(|share| share * SLOTS / self.masters <= slot).unwrap()
    }

    /// Returns the master that executes a command.
    pub(crate) fn owner_of(&self, words: &[&str]) -> &Node {
        let (node, reply) = self.execute(words);
        reply.unwrap();
        node
    }

    /// Sends a command past the store to the master of its key.
    pub(crate) fn try_raw(&self, words: &[&str]) -> RedisResult<Value> {
        self.execute(words).1
    }

    /// Sends a command to any node, follows redirects, and returns the last node and its reply.
    fn execute(&self, words: &[&str]) -> (&Node, RedisResult<Value>) {
        let mut asked = &self.nodes[0];
        loop {
            let reply = asked.redis.try_raw(words);
            match &reply {
                Err(error) if error.kind() == ErrorKind::Server(ServerErrorKind::Moved) => {
                    let (address, _) = error.redirect_node().unwrap();
                    let is_named = |node: &&Node| address.ends_with(&format!(":{}", node.port));
                    asked = self.nodes.iter().find(is_named).unwrap();
                }
                _ => return (asked, reply),
            }
        }
    }

    /// Moves a key's slot to another master, ten keys at a time, as `redis-cli --cluster reshard` does.
    pub(crate) fn move_slot(&self, key: &str) {
        let moving = self.begin_to_move_slot(key);
        loop {
            let keys = moving.keys(10);
            if keys.is_empty() {
                break;
            }
            moving.move_keys(&keys);
            std::thread::sleep(Duration::from_millis(10));
        }
        moving.end();
    }

    /// Returns true if the servers can move a slot as a whole: those of Valkey 9 can.
    pub(crate) fn moves_slots_as_a_whole(&self) -> bool {
        self.nodes[0].redis.raw::<String>(&["INFO", "server"]).contains("valkey_version:9")
    }

    /// Moves a key's slot to another master, as a whole.
    pub(crate) fn move_slot_as_a_whole(&self, key: &str) {
        let (slot, source, target) = self.move_of(key);
        let migrate = ["CLUSTER", "MIGRATESLOTS", "SLOTSRANGE", &slot, &slot, "NODE", &target.id()];
        source.redis.raw::<()>(&migrate);
        self.wait_until(|node| is_moved(key, node, target));
    }

    /// Returns a key's slot, its master, and another master.
    fn move_of(&self, key: &str) -> (String, &Node, &Node) {
        let slot: u64 = self.nodes[0].redis.raw(&["CLUSTER", "KEYSLOT", key]);
        let source = self.owner_of(&["EXISTS", key]);
        let is_other = |node: &&Node| node.port != source.port && node.is_master();
        (slot.to_string(), source, self.nodes.iter().find(is_other).unwrap())
    }

    /// Begins to move a key's slot to another master. No key is moved yet.
    pub(crate) fn begin_to_move_slot(&self, key: &str) -> Moving<'_> {
        let (slot, source, target) = self.move_of(key);
        target.redis.raw::<()>(&["CLUSTER", "SETSLOT", &slot, "IMPORTING", &source.id()]);
        source.redis.raw::<()>(&["CLUSTER", "SETSLOT", &slot, "MIGRATING", &target.id()]);
        Moving { key: key.to_owned(), slot, source, target, nodes: &self.nodes }
    }

    /// Returns the names and values of the masters' statistics that begin with this text.
    pub(crate) fn statistics(&self, section: &str, start: &str) -> Vec<String> {
        let of = |node: &Node| node.redis.raw::<String>(&["INFO", section]);
        let lines =
            self.nodes.iter().flat_map(|node| of(node).lines().map(str::to_owned).collect::<Vec<_>>());
        lines.filter(|line| line.starts_with(start)).collect()
    }
}

/// A slot on its way from one master to another.
pub(crate) struct Moving<'a> {
    /// A key of the slot.
    key: String,
    slot: String,
    source: &'a Node,
    target: &'a Node,
    nodes: &'a [Node],
}

impl Moving<'_> {
    /// Returns at most this number of keys that have not been moved.
    pub(crate) fn keys(&self, most: usize) -> Vec<String> {
        self.source.redis.raw(&["CLUSTER", "GETKEYSINSLOT", &self.slot, &most.to_string()])
    }

    pub(crate) fn move_key(&self, key: &str) {
        self.move_keys(&[key.to_owned()]);
    }

    fn move_keys(&self, keys: &[String]) {
        let port = self.target.port.to_string();
        let migrate = ["MIGRATE", "127.0.0.1", &port, "", "0", "5000", "KEYS"];
        let keys: Vec<&str> = keys.iter().map(String::as_str).collect();
        self.source.redis.raw::<()>(&[&migrate[..], &keys].concat());
    }

    /// Moves the remaining keys, and tells all nodes.
    pub(crate) fn end(self) {
        let keys = self.keys(1_000);
        if !keys.is_empty() {
            self.move_keys(&keys);
        }
        loop {
            let target = self.target.id();
            for node in [self.target, self.source].into_iter().chain(self.nodes) {
                // A replica learns it from its master.
                let _ = node.redis.try_raw::<()>(&["CLUSTER", "SETSLOT", &self.slot, "NODE", &target]);
            }
            // If the slot has moved to and fro within milliseconds, a late message may undo the move at one of the
            // nodes.
            let agree = || {
                std::thread::sleep(Duration::from_millis(20));
                self.nodes.iter().all(|node| is_moved(&self.key, node, self.target))
            };
            if agree() && agree() {
                return;
            }
        }
    }
}

/// Returns true if a key's slot belongs to the target, according to a node.
fn is_moved(key: &str, node: &Node, target: &Node) -> bool {
    match node.redis.try_raw::<Value>(&["EXISTS", key]) {
        Ok(_) => node.port == target.port,
        Err(error) => {
            let port = format!(":{}", target.port);
            error.redirect_node().is_some_and(|(address, _)| address.ends_with(&port))
        }
    }
}

fn config(redis: &Instance, name: &str) -> String {
    redis.raw::<(String, String)>(&["CONFIG", "GET", name]).1
}
