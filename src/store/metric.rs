//! Redis metrics: duration and errors of round trips, by step and, in a cluster, by node.
//!
//! # Why by step
//! A step is the purpose of a batch. Its name is a literal in the source, so the number of steps is fixed.
//! Each thread looks up each histogram once. After that, recording a duration takes no allocation and no lock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Histogram, counter, gauge, histogram};

use crate::store::topology::Node;

thread_local! {
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
    static BY_NODE: RefCell<HashMap<Node, Histogram>> = RefCell::default();
}

/// Records the duration of a successful round trip of this step.
pub(super) fn answered(step: &'static str, took: Duration) {
    DURATIONS.with_borrow_mut(|durations| {
        let duration =
            durations.entry(step).or_insert_with(|| histogram!("fanfold_redis_seconds", "step" => step));
        duration.record(took);
    });
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

/// Counts unreadable data of this kind that was left out.
pub(super) fn left_out(kind: &'static str) {
    counter!("fanfold_unreadable_total", "kind" => kind).increment(1);
}

/// Counts a failed round trip of this step.
pub(super) fn failed(step: &'static str) {
    counter!("fanfold_redis_errors_total", "step" => step).increment(1);
}
