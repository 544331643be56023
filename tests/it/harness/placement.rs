//! Users of a cluster, and which of its masters have their data.

use crate::harness::cluster::Cluster;
use crate::harness::server::Server;
use crate::harness::story::name;

/// A user of a test, and where their data is.
pub(crate) struct Placed {
    pub(crate) token: String,
    /// Position of the master of the user's slot.
    pub(crate) master: usize,
    /// Position of the master of the deliveries of the user's posts.
    pub(crate) deliveries: usize,
}

impl Placed {
    /// Returns true if the user can publish without this master.
    pub(crate) fn is_served_without(&self, master: usize) -> bool {
        self.master != master && self.deliveries != master
    }
}

/// Registers users, who get the ids from 1.
pub(crate) fn placed(cluster: &Cluster, server: &Server, count: usize) -> Vec<Placed> {
    let place = |id: usize| Placed {
        token: server.token(&name(id)),
        master: cluster.share_of(&format!("ff:{{u{id}}}:user")),
        deliveries: cluster.share_of(&format!("ff:{{f{}}}:fanout", id % 16)),
    };
    (1..=count).map(place).collect()
}
