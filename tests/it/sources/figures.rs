//! The README, its plot, and the pages on capacity and clusters show what `make bench` has measured.

#[path = "../../../benches/capacity/report.rs"]
mod capacity;
#[path = "../../../benches/cluster/report.rs"]
mod cluster;
#[path = "../../../benches/peers/report.rs"]
mod report;

use self::report::{Measured, in_page, plot};

const MEASURED: &str = include_str!("../../../benches/peers/measured.json");
const CAPACITY: &str = include_str!("../../../benches/capacity/measured.json");
const CAPACITY_PAGE: &str = include_str!("../../../docs/capacity.md");
const CLUSTER: &str = include_str!("../../../benches/cluster/measured.json");
const CLUSTER_PAGE: &str = include_str!("../../../docs/cluster.md");
const README: &str = include_str!("../../../README.md");
const PLOT: &str = include_str!("../../../docs/performance.svg");

#[test]
fn the_readme_shows_the_committed_measurements() {
    let measured: Measured = serde_json::from_str(MEASURED).unwrap();
    assert_eq!(in_page(README, &measured), README, "`make bench` writes both");
    assert_eq!(plot(&measured), PLOT, "`make bench` writes both");
}

#[test]
fn the_capacity_page_shows_the_committed_measurements() {
    let measured: capacity::Measured = serde_json::from_str(CAPACITY).unwrap();
    let page = capacity::in_page(CAPACITY_PAGE, &measured);
    assert_eq!(page, CAPACITY_PAGE, "`cargo bench --bench capacity -- --write` writes both");
}

#[test]
fn the_page_on_clusters_shows_the_committed_measurements() {
    let measured: cluster::Measured = serde_json::from_str(CLUSTER).unwrap();
    let page = cluster::in_page(CLUSTER_PAGE, &measured);
    assert_eq!(page, CLUSTER_PAGE, "`cargo bench --bench cluster -- --write` writes both");
}

#[test]
fn the_readme_is_short() {
    assert!(README.lines().count() <= 150, "the README has more than 150 lines");
}
