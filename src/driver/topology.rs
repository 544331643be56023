//! The servers of a Redis Cluster, and the slots that each of them serves.
//!
//! A cluster divides all keys into 16,384 slots by their hash tag
//! (<https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/>). Each slot is served by one master.

use std::collections::HashMap;
use std::fmt;

use redis::ConnectionAddr;

use crate::driver::reply::Reply;

/// Number of slots.
const SLOTS: u16 = 16_384;

/// The host and port of a server.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub(super) struct Node {
    pub(super) host: String,
    pub(super) port: u16,
}

impl fmt::Display for Node {
    fn fmt(&self, formatter: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(formatter, "{}:{}", self.host, self.port)
    }
}

impl Node {
    /// Returns the node with this address; `None` for a socket in the file system.
    pub(super) fn at(address: &ConnectionAddr) -> Option<Self> {
        match address {
            ConnectionAddr::Tcp(host, port) | ConnectionAddr::TcpTls { host, port, .. } => {
                Some(Self { host: host.clone(), port: *port })
            }
            _ => None,
        }
    }

    /// Parses `host:port`, as redirects name a node. An empty host means that of the node that redirects.
    pub(super) fn parse(text: &str, asked: &Self) -> Option<Self> {
        let (host, port) = text.rsplit_once(':')?;
        Some(Self::named(host, port.parse().ok()?, asked))
    }

    /// Reads a node as `CLUSTER SLOTS` lists it: host, port and more.
    fn read(reply: Reply<'_>, asked: &Self) -> Option<Self> {
        let mut parts = reply.elements()?;
        let host = parts.next()?;
        let port = u16::try_from(parts.next()?.count()?).ok()?;
        Some(Self::named(host.text().unwrap_or_default(), port, asked))
    }

    /// Returns a node as another node names it. A node that does not know its own host leaves it empty, or writes `?`.
    fn named(host: &str, port: u16, asked: &Self) -> Self {
        let host = if matches!(host, "" | "?") { asked.host.as_str() } else { host };
        Self { host: host.to_owned(), port }
    }
}

/// Returns the slot of the keys with this text in their braces.
pub(crate) fn slot(hashed: &str) -> u16 {
    crc16::State::<crc16::XMODEM>::calculate(hashed.as_bytes()) % SLOTS
}

/// Reads the replicas of each master from a node's reply to `CLUSTER SLOTS`; `None` if the reply is an error.
pub(super) fn replicas(reply: Reply<'_>, asked: &Node) -> Option<HashMap<Node, Vec<Node>>> {
    let mut replicas: HashMap<Node, Vec<Node>> = HashMap::new();
    for range in reply.elements()? {
        let mut nodes = range.elements()?.skip(2).map(|node| Node::read(node, asked));
        let master = nodes.next()??;
        replicas.insert(master, nodes.collect::<Option<_>>()?);
    }
    Some(replicas)
}

/// The masters of a cluster, and their slots.
#[derive(Debug, PartialEq, Eq)]
pub(super) struct Topology {
    masters: Vec<Node>,
    /// For each slot, the index of the master that serves it.
    owners: Vec<Option<u16>>,
}

impl Topology {
    /// Creates the topology of a cluster of which nothing is known.
    pub(super) fn unknown() -> Self {
        Self { masters: Vec::new(), owners: vec![None; SLOTS.into()] }
    }

    /// Reads a node's reply to `CLUSTER SLOTS`; `None` if the reply is an error, or names no slots.
    pub(super) fn read(reply: Reply<'_>, asked: &Node) -> Option<Self> {
        let mut topology = Self::unknown();
        for range in reply.elements()? {
            let mut parts = range.elements()?;
            let mut number = || parts.next()?.count().and_then(|number| u16::try_from(number).ok());
            let (first, last) = (number()?, number()?.min(SLOTS - 1));
            let node = Node::read(parts.next()?, asked)?;
            let index = topology.index_of(node)?;
            topology.owners.get_mut(usize::from(first)..=usize::from(last))?.fill(Some(index));
        }
        (!topology.masters.is_empty()).then_some(topology)
    }

    fn index_of(&mut self, node: Node) -> Option<u16> {
        let known = self.masters.iter().position(|master| *master == node);
        let index = known.unwrap_or_else(|| {
            self.masters.push(node);
            self.masters.len() - 1
        });
        u16::try_from(index).ok()
    }

    /// Returns the topology with another master of one slot.
    pub(super) fn with_owner(&self, slot: u16, node: Node) -> Self {
        let mut topology = Self { masters: self.masters.clone(), owners: self.owners.clone() };
        let index = topology.index_of(node);
        if let Some(owner) = topology.owners.get_mut(usize::from(slot)) {
            *owner = index;
        }
        topology
    }

    /// Returns the masters.
    pub(super) fn masters(&self) -> &[Node] {
        &self.masters
    }

    /// Returns the number of slots that a master serves.
    pub(super) fn slots_of(&self, master: &Node) -> usize {
        (0..SLOTS).filter(|slot| self.owner(*slot) == Some(master)).count()
    }

    /// Returns the master of a slot; `None` if no master serves it.
    pub(super) fn owner(&self, slot: u16) -> Option<&Node> {
        let index = (*self.owners.get(usize::from(slot))?)?;
        self.masters.get(usize::from(index))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn node(host: &str, port: u16) -> Node {
        Node { host: host.to_owned(), port }
    }

    #[test]
    fn slots_are_those_of_redis() {
        // As CLUSTER KEYSLOT answers.
        assert_eq!(slot("g"), 7_233);
        assert_eq!(slot("f0"), 6_111);
        assert_eq!(slot("a"), 15_495);
        assert_eq!(slot("u7"), 12_568);
        assert_eq!(slot("p9"), 12_067);
    }

    #[test]
    fn a_topology_is_read_from_the_ranges_of_slots() {
        let text = b"*3\r\n\
            *3\r\n:0\r\n:5460\r\n*4\r\n$9\r\n127.0.0.1\r\n:7000\r\n$2\r\nid\r\n*0\r\n\
            *4\r\n:5461\r\n:5461\r\n*3\r\n$0\r\n\r\n:7001\r\n$2\r\nid\r\n*3\r\n$1\r\nr\r\n:7009\r\n$2\r\nid\r\n\
            *3\r\n:16000\r\n:16383\r\n*3\r\n$-1\r\n:7000\r\n$2\r\nid\r\n";
        let topology = Topology::read(Reply::new(text), &node("127.0.0.1", 7_001)).unwrap();
        assert_eq!(topology.masters(), [node("127.0.0.1", 7_000), node("127.0.0.1", 7_001)]);
        assert_eq!(topology.owner(5_460), Some(&node("127.0.0.1", 7_000)));
        assert_eq!(topology.owner(5_461), Some(&node("127.0.0.1", 7_001)));
        assert_eq!(topology.owner(16_383), Some(&node("127.0.0.1", 7_000)));
        assert_eq!((topology.owner(5_462), topology.owner(SLOTS)), (None, None));
        let replicas = replicas(Reply::new(text), &node("127.0.0.1", 7_001)).unwrap();
        assert_eq!(replicas[&node("127.0.0.1", 7_001)], [node("r", 7_009)]);
        for text in ["*0\r\n", "-ERR This instance has cluster support disabled\r\n", "*1\r\n:1\r\n"] {
            assert_eq!(Topology::read(Reply::new(text.as_bytes()), &node("a", 1)), None);
        }
    }

    #[test]
    fn redirects_name_a_host_or_leave_it_to_the_node_that_redirects() {
        let asked = node("10.0.0.1", 7_000);
        assert_eq!(Node::parse("10.0.0.2:7001", &asked), Some(node("10.0.0.2", 7_001)));
        assert_eq!(Node::parse("::1:7001", &asked), Some(node("::1", 7_001)));
        assert_eq!(Node::parse(":7001", &asked), Some(node("10.0.0.1", 7_001)));
        for text in ["", "7001", "host:", "host:70001"] {
            assert_eq!(Node::parse(text, &asked), None);
        }
    }
}
