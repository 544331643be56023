//! The durations of round trips to a cluster's nodes. Each thread looks up each histogram once.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::Histogram;

use crate::driver::topology::Node;
use crate::metric;

thread_local! {
    static BY_NODE: RefCell<HashMap<Node, Histogram>> = RefCell::default();
}

/// Records how long a node of a cluster took to answer.
pub(super) fn node_answered(node: &Node, took: Duration) {
    BY_NODE.with_borrow_mut(|durations| {
        if !durations.contains_key(node) {
            let duration = metric::redis_node_seconds(node.to_string());
            durations.insert(node.clone(), duration);
        }
        if let Some(duration) = durations.get(node) {
            duration.record(took);
        }
    });
}
