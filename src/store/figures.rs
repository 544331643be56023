//! How long Redis takes, and how often it fails, step by step.
//!
//! # Why by step
//! A step is what a batch is for: its name is written in the source, so there are as many as the program has. Whatever
//! keeps the figures is looked up once by each thread; after that, a figure costs no allocation and no lock.

use std::cell::RefCell;
use std::collections::HashMap;
use std::time::Duration;

use metrics::{Histogram, counter, histogram};

thread_local! {
    static DURATIONS: RefCell<HashMap<&'static str, Histogram>> = RefCell::default();
}

/// A round trip of this step was answered.
pub(super) fn answered(step: &'static str, took: Duration) {
    DURATIONS.with_borrow_mut(|durations| {
        let duration =
            durations.entry(step).or_insert_with(|| histogram!("fanfold_redis_seconds", "step" => step));
        duration.record(took);
    });
}

/// Data of this kind could not be read, and was left out.
pub(super) fn left_out(kind: &'static str) {
    counter!("fanfold_unreadable_total", "kind" => kind).increment(1);
}

/// A round trip of this step was not answered.
pub(super) fn failed(step: &'static str) {
    counter!("fanfold_redis_errors_total", "step" => step).increment(1);
}
