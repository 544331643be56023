//! The replicas of a cluster that are read.
//!
//! What a replica does not answer with data, or not in time, is read from its master (`driver::distribution`).
//!
//! Not here: which replicas are close enough behind their masters (`driver::lag`).

use std::collections::HashMap;
use std::sync::{Arc, Weak};
use std::time::Duration;

use parking_lot::RwLock;
use tokio::time::Instant;

use crate::driver::pool::Pool;
use crate::driver::topology::Node;

/// Time by which a replica that is read may be behind its master.
pub(crate) const MOST_LAG: Duration = Duration::from_secs(5);
/// Time after which the master is asked instead of a replica.
pub(super) const PATIENCE: Duration = Duration::from_millis(500);

/// The replica of each master that is read. Clones share them.
#[derive(Clone, Default)]
pub(super) struct Replicas(Arc<RwLock<HashMap<Node, Replica>>>);

/// A weak handle to the replicas that are read.
pub(super) struct WeakReplicas(Weak<RwLock<HashMap<Node, Replica>>>);

/// A replica, and the connections to it.
#[derive(Clone)]
pub(super) struct Replica {
    pub(super) node: Node,
    pub(super) pool: Pool,
    /// The last time at which the replica is known to have had all that its master had executed.
    pub(super) caught_up_at: Instant,
}

impl Replicas {
    /// Returns the replica of a master that is to be read; `None` if none is close enough behind.
    pub(super) fn of(&self, master: &Node) -> Option<Node> {
        let chosen = self.0.read();
        let replica = chosen.get(master).filter(|replica| replica.caught_up_at.elapsed() < MOST_LAG)?;
        Some(replica.node.clone())
    }

    /// Returns the connections to a replica; `None` if it is not read any more.
    pub(super) fn pool(&self, node: &Node) -> Option<Pool> {
        let chosen = self.0.read();
        chosen.values().find(|replica| replica.node == *node).map(|replica| replica.pool.clone())
    }

    /// Stops reading a replica that has not answered, until it is chosen again.
    pub(super) fn forget(&self, node: &Node) {
        let mut chosen = self.0.write();
        chosen.retain(|_, replica| replica.node != *node);
    }

    /// Returns a weak handle.
    pub(super) fn downgrade(&self) -> WeakReplicas {
        WeakReplicas(Arc::downgrade(&self.0))
    }
}

impl WeakReplicas {
    /// Replaces the replicas that are read. Returns false if all handles have been dropped.
    pub(super) fn set(&self, replicas: HashMap<Node, Replica>) -> bool {
        let Some(chosen) = self.0.upgrade() else { return false };
        *chosen.write() = replicas;
        true
    }
}
