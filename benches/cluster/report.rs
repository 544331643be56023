//! The contents of `measured.json`, and the part of `docs/cluster.md` that shows them.

use std::fmt::Write as _;

use serde::{Deserialize, Serialize};

/// All measurements.
#[derive(Deserialize, Serialize)]
pub(crate) struct Measured {
    /// Day of the measurement, such as 2026-11-22.
    pub(crate) day: String,
    /// Version of Redis.
    pub(crate) redis: String,
    pub(crate) comparisons: Vec<Comparison>,
    pub(crate) failover: Failover,
}

/// Two values that were measured in turns.
#[derive(Deserialize, Serialize)]
pub(crate) struct Comparison {
    pub(crate) what: String,
    /// The unit of both values.
    pub(crate) unit: String,
    pub(crate) sides: [Side; 2],
}

/// One of two values.
#[derive(Deserialize, Serialize)]
pub(crate) struct Side {
    pub(crate) name: String,
    pub(crate) value: f64,
}

impl Comparison {
    /// Returns the second value relative to the first.
    fn ratio(&self) -> f64 {
        self.sides[1].value / self.sides[0].value
    }
}

/// The time from the promotion of a replica until the listeners of its master were woken.
#[derive(Deserialize, Serialize)]
pub(crate) struct Failover {
    pub(crate) listeners: usize,
    pub(crate) seconds: f64,
}

/// Beginning and end of the measured part of the page.
const MARKERS: [&str; 2] = ["<!-- measured: `make bench` writes this -->\n", "<!-- end of measured -->"];

/// Returns the page with the measured part replaced.
///
/// # Panics
/// If the page has no measured part.
pub(crate) fn in_page(page: &str, measured: &Measured) -> String {
    let [beginning, end] = MARKERS;
    let (before, rest) = page.split_once(beginning).expect("the page has a measured part");
    let (_, after) = rest.split_once(end).expect("the measured part ends");
    format!("{before}{beginning}{}{end}{after}", section(measured))
}

/// Formats all measurements.
pub(crate) fn section(measured: &Measured) -> String {
    let mut text = "| Measured | | | Ratio |\n|---|---:|---:|---:|\n".to_owned();
    for comparison in &measured.comparisons {
        let side = |side: &Side| {
            let digits = if side.value < 100.0 { 2 } else { 0 };
            format!("{}: {:.digits$}{}", side.name, side.value, comparison.unit)
        };
        let [one, other] = comparison.sides.each_ref().map(side);
        writeln!(text, "| {} | {one} | {other} | {:.2} |", comparison.what, comparison.ratio())
            .expect("text can be appended");
    }
    let Failover { listeners, seconds } = measured.failover;
    text + &format!(
        "\nAfter a replica had taken over from a killed master, the last of its {listeners} listeners was woken within \
         {seconds:.2} seconds.\nMeasured on {}, with Redis {}.\n",
        measured.day, measured.redis
    )
}
