//! The list of the tests that a run leaves out names tests that exist, and no others than it means.

use std::collections::HashSet;
use std::process::Command;

const LIST: &str = include_str!("../left_out.txt");
const MAKEFILE: &str = include_str!("../../../Makefile");
const RUNS: [&str; 4] = ["again", "cluster", "redis-6.2", "valkey-9.1"];

/// Returns the entries: each has a run, a name and a reason.
fn entries() -> impl Iterator<Item = [&'static str; 3]> {
    let lines = LIST.lines().filter(|line| !line.is_empty() && !line.starts_with('#'));
    lines.map(|line| {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        words.try_into().unwrap_or_else(|_| panic!("it has a run, a name and a reason: {line}"))
    })
}

/// Returns the names of all tests.
fn tests() -> Vec<String> {
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[test]
fn a_run_leaves_out_the_tests_that_are_listed_and_no_others() {
    let tests = tests();
    let mut names = HashSet::new();
    for [run, name, _] in entries() {
        assert!(RUNS.contains(&run), "{run} is a run of the Makefile");
        assert!(names.insert((run, name)), "{name} is listed once");
        // The runs leave out all tests that contain the name.
        let left_out: Vec<&String> = tests.iter().filter(|test| test.contains(name)).collect();
        assert!(!left_out.is_empty(), "{name} exists");
        let is_meant = |test: &&String| match name {
            _ if name.starts_with("::") => test.ends_with(name),
            _ if name.ends_with("::") => test.starts_with(name),
            _ => *test == name,
        };
        let others: Vec<_> = left_out.into_iter().filter(|test| !is_meant(test)).collect();
        assert!(others.is_empty(), "{name} also leaves out {others:?}");
    }
    for run in RUNS {
        assert!(entries().any(|[other, ..]| run == other), "{run} leaves out a test");
        assert!(MAKEFILE.contains(&format!("$(call left_out,{run})")), "the Makefile has the run {run}");
    }
    assert_eq!(MAKEFILE.matches("--skip").count(), 1, "the list is the only source of skipped tests");
}
