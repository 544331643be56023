//! The README and its plot show what `make bench` has measured.

#[path = "../../../benches/peers/report.rs"]
mod report;

use self::report::{Measured, in_page, plot};

const MEASURED: &str = include_str!("../../../benches/peers/measured.json");
const README: &str = include_str!("../../../README.md");
const PLOT: &str = include_str!("../../../docs/performance.svg");

#[test]
fn the_readme_shows_the_committed_measurements() {
    let measured: Measured = serde_json::from_str(MEASURED).unwrap();
    assert_eq!(in_page(README, &measured), README, "`make bench` writes both");
    assert_eq!(plot(&measured), PLOT, "`make bench` writes both");
}

#[test]
fn the_readme_is_short() {
    assert!(README.lines().count() <= 150, "the README has more than 150 lines");
}
