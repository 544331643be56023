//! The durations of round trips to Redis, by step.
//!
//! Not here: those of a cluster's nodes (`driver::metric`).
//!
//! # Why by step
//! A step is the purpose of a batch. Its name is a literal in the source, so the number of steps is fixed.
//! Each thread looks up each histogram once. After that, recording a duration takes no allocation and no lock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::Histogram;

use crate::metric;

thread_local! {
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
}

/// Records the duration of a successful round trip of this step.
pub(super) fn answered(step: &'static str, took: Duration) {
    DURATIONS.with_borrow_mut(|durations| {
        let duration = durations.entry(step).or_insert_with(|| metric::redis_seconds(step));
        duration.record(took);
    });
}
