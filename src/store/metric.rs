//! Redis metrics: duration and errors of round trips, by step.
//!
//! Not here: those of a cluster's nodes (`driver::metric`).
//!
//! # Why by step
//! A step is the purpose of a batch. Its name is a literal in the source, so the number of steps is fixed.
//! Each thread looks up each histogram once. After that, recording a duration takes no allocation and no lock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Histogram, counter, histogram};

thread_local! {
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
}

/// Records the duration of a successful round trip of this step.
pub(super) fn answered(step: &'static str, took: Duration) {
    DURATIONS.with_borrow_mut(|durations| {
        let duration =
            durations.entry(step).or_insert_with(|| histogram!("fanfold_redis_seconds", "step" => step));
        duration.record(took);
    });
}

/// Counts unreadable data of this kind that was left out.
pub(super) fn left_out(kind: &'static str) {
    counter!("fanfold_unreadable_total", "kind" => kind).increment(1);
}

/// Counts a failed round trip of this step.
pub(super) fn failed(step: &'static str) {
    counter!("fanfold_redis_errors_total", "step" => step).increment(1);
}
