//! Metrics of operations' predicted cost and actual resource use, and of the loader's batches.

use std::cell::OnceCell;

use metrics::Histogram;

use crate::budget::{Budget, Resource};
use crate::metric;

/// A thread's histograms, looked up once so that recording needs no allocation and no lock.
struct Histograms {
    cost: Histogram,
    used: [Histogram; Resource::ALL.len()],
    reads: Histogram,
}

impl Histograms {
    fn new() -> Self {
        Self {
            cost: metric::operation_cost(),
            used: Resource::ALL.map(|resource| metric::operation_used(resource.as_str())),
            reads: metric::loader_reads(),
        }
    }
}

thread_local! {
    static HISTOGRAMS: OnceCell<Histograms> = const { OnceCell::new() };
}

/// Records an operation's predicted cost and actual resource use.
#[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
pub(super) fn record(cost: u64, budget: &Budget) {
    HISTOGRAMS.with(|histograms| {
        let Histograms { cost: predicted, used, .. } = histograms.get_or_init(Histograms::new);
        predicted.record(cost as f64);
        let amounts = budget.used();
        for (resource, histogram) in Resource::ALL.into_iter().zip(used) {
            histogram.record(amounts.of(resource) as f64);
        }
    });
    if let Some(exceeded) = budget.exceeded() {
        metric::operations_over_budget_total(exceeded.resource.as_str()).increment(1);
    }
}

/// Records the number of reads in a batch of the loader.
#[expect(clippy::cast_precision_loss, reason = "metrics are doubles")]
pub(super) fn record_batch(reads: usize) {
    HISTOGRAMS.with(|histograms| histograms.get_or_init(Histograms::new).reads.record(reads as f64));
}
