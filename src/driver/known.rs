//! What is known of the topology of a Redis Cluster, and how old it is.
//!
//! Not here: when the topology is read again (`driver::cluster`), and its form (`driver::topology`).

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::driver::topology::{Node, Topology};
use crate::metric;

/// The known topology of a cluster.
pub(super) struct Known {
    state: RwLock<State>,
    /// The slot whose master is watched.
    watched: u16,
    /// Number of times the master of the watched slot has changed.
    changes: AtomicU64,
}

/// The topology, and the time at which it was read.
#[derive(Clone)]
struct State {
    topology: Arc<Topology>,
    at: Instant,
}

impl Known {
    /// Begins without a topology. Watches the master of this slot.
    pub(super) fn new(watched: u16) -> Self {
        let state = State { topology: Arc::new(Topology::unknown()), at: Instant::now() };
        Self { state: RwLock::new(state), watched, changes: AtomicU64::default() }
    }

    /// Returns the topology.
    pub(super) fn topology(&self) -> Arc<Topology> {
        self.state().topology
    }

    /// Returns the time at which the topology was read.
    pub(super) fn read_at(&self) -> Instant {
        self.state().at
    }

    /// Returns the number of times the master of the watched slot has changed.
    pub(super) fn changes(&self) -> u64 {
        self.changes.load(Ordering::Relaxed)
    }

    /// Records what nodes report now: another topology, or `None` if the known one is confirmed.
    pub(super) fn install(&self, reported: Option<Topology>) {
        let mut state = self.state.write();
        state.at = Instant::now();
        if let Some(topology) = reported {
            self.replace(&mut state, topology);
        }
    }

    /// Records that a slot has another owner, before anything is sent there: if the slot is watched, the new owner
    /// may have lost its last writes. The rest of the topology stays as old as it is.
    pub(super) fn note_owner(&self, slot: u16, node: Node) {
        let mut state = self.state.write();
        if state.topology.owner(slot) != Some(&node) {
            let topology = state.topology.with_owner(slot, node);
            self.replace(&mut state, topology);
        }
    }

    fn state(&self) -> State {
        self.state.read().clone()
    }

    fn replace(&self, state: &mut State, topology: Topology) {
        if topology == *state.topology {
            return;
        }
        let watched = state.topology.owner(self.watched);
        if watched.is_some_and(|owner| Some(owner) != topology.owner(self.watched)) {
            self.changes.fetch_add(1, Ordering::Relaxed);
        }
        metric::redis_topology_changes_total().increment(1);
        tracing::info!(masters = topology.masters().len(), "the topology of the Redis Cluster has changed");
        state.topology = Arc::new(topology);
    }
}

/// Returns the topology that most nodes report; `None` if as many report the known one, or none reports any. A node
/// that has been cut off may report an old one.
pub(super) fn most_frequent(reported: Vec<Topology>, known: &Topology) -> Option<Topology> {
    let votes = |topology: &Topology| reported.iter().filter(|other| *other == topology).count();
    let most = reported.iter().map(votes).max()?;
    if votes(known) == most {
        return None;
    }
    let first = reported.iter().position(|topology| votes(topology) == most)?;
    reported.into_iter().nth(first)
}

#[cfg(test)]
mod tests {
    use super::*;

    fn topology(owner: u16) -> Topology {
        let node = Node { host: "host".to_owned(), port: owner };
        Topology::unknown().with_owner(0, node)
    }

    #[test]
    fn a_topology_is_replaced_if_more_nodes_report_another() {
        let one = |owners: &[u16]| {
            let reported = owners.iter().map(|owner| topology(*owner)).collect();
            most_frequent(reported, &topology(1))
        };
        assert_eq!(one(&[]), None);
        assert_eq!(one(&[1, 1, 2]), None, "one node may be cut off");
        assert_eq!(one(&[1, 2]), None);
        assert_eq!(one(&[2, 1, 2]), Some(topology(2)));
        assert_eq!(one(&[3, 2, 2, 1]), Some(topology(2)));
    }
}
