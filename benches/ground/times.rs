//! What was measured, and how it is told.

use std::time::Duration;

/// Times of one kind.
#[derive(Default)]
pub(crate) struct Times(pub(crate) Vec<Duration>);

impl Times {
    /// In milliseconds.
    pub(crate) fn quantile(&self, percent: usize) -> f64 {
        let mut times = self.0.clone();
        times.sort_unstable();
        times[(times.len() - 1) * percent / 100].as_secs_f64() * 1_000.0
    }

    /// A line of a table.
    pub(crate) fn print(&self, what: &str) {
        let [median, ninety, most] = [50, 90, 100].map(|percent| self.quantile(percent));
        println!("{what:<54} {median:>9.2} {ninety:>9.2} {most:>9.2}");
    }
}
