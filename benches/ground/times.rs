//! Measured durations, and their output.

use std::time::Duration;

/// Durations of one kind of measurement.
#[derive(Default)]
pub(crate) struct Times(pub(crate) Vec<Duration>);

impl Times {
    /// Returns a percentile, in milliseconds.
    pub(crate) fn quantile(&self, percent: usize) -> f64 {
        let mut times = self.0.clone();
        times.sort_unstable();
        times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
    }

    /// Prints a table row.
    pub(crate) fn print(&self, what: &str) {
        let [median, ninety, most] = [50, 90, 100].map(|percent| self.quantile(percent));
        println!("{what:<54} {median:>9.2} {ninety:>9.2} {most:>9.2}");
    }
}
