//! Metrics of a cluster's nodes. Each thread looks up each histogram once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Histogram, counter, gauge, histogram};

use crate::driver::topology::Node;

thread_local! {
    static BY_NODE: RefCell<HashMap<Node, Histogram>> = RefCell::default();
}

/// Records how long a node of a cluster took to answer.
pub(super) fn node_answered(node: &Node, took: Duration) {
    BY_NODE.with_borrow_mut(|durations| {
        if !durations.contains_key(node) {
            let duration = histogram!("fanfold_redis_node_seconds", "node" => node.to_string());
            durations.insert(node.clone(), duration);
        }
        if let Some(duration) = durations.get(node) {
            duration.record(took);
        }
    });
}

/// Counts a reply of a cluster's node that was not final, by what it means.
pub(super) fn redirected(kind: &'static str) {
    counter!("fanfold_redis_redirects_total", "kind" => kind).increment(1);
}

/// Records the number of masters of which a replica is read.
pub(super) fn replicas_read(count: usize) {
    gauge!("fanfold_redis_replicas").set(u32::try_from(count).unwrap_or(u32::MAX));
}

/// Counts a change of a cluster's topology.
pub(super) fn topology_changed() {
    counter!("fanfold_redis_topology_changes_total").increment(1);
}
