//! The tests that `make test` runs again on a cluster, on MariaDB and on PostgreSQL reach every batch and every script
//! there. Those that other runs leave out exist.

use std::collections::{BTreeMap, BTreeSet, HashSet};
use std::fs;
use std::path::Path;
use std::process::Command;

use crate::harness::reach::{QUERIES, script_names};
use crate::harness::source::{sources, texts_after};

const LIST: &str = include_str!("../deployments.txt");
const LEFT_OUT: &str = include_str!("../left_out.txt");
const MAKEFILE: &str = include_str!("../../../Makefile");
const LISTED: [&str; 3] = ["cluster", "mariadb", "postgres"];
const RUNS: [&str; 4] = ["again", "cluster", "redis-6.2", "valkey-9.1"];

/// What need not be reached by a listed test, with the reason.
const NOT_ON_A_CLUSTER: [(&str, &str); 1] = [("cache", "the user cache requires a single server")];

/// Returns the batches and scripts that the list names for a deployment.
fn listed(deployment: &str) -> BTreeSet<&'static str> {
    let mut is_in = false;
    let mut names = BTreeSet::new();
    for line in LIST.lines().filter(|line| !line.starts_with('#')) {
        match line.strip_prefix("    ") {
            Some(name) if is_in => drop(names.insert(name)),
            Some(_) => {}
            None => is_in = line.starts_with(deployment),
        }
    }
    names
}

/// Returns the names of the batches in the sources: the arguments of `Batch::new`, `send` and `send_all`, and texts of
/// the same form that are passed on to them.
fn batches() -> BTreeSet<String> {
    let mut names = texts_after("src", &["Batch::new(", ".send(", ".send_all("]);
    let areas: BTreeSet<String> =
        names.iter().filter_map(|name| Some(name.split_once(": ")?.0.to_owned())).collect();
    let is_name = |text: &&str| {
        let is_plain = text.chars().all(|letter| letter.is_ascii_lowercase() || ": ".contains(letter));
        is_plain && text.split_once(": ").is_some_and(|(area, _)| areas.contains(area))
    };
    for text in texts().iter().flat_map(|source| source.split('"')).filter(is_name) {
        names.insert(text.to_owned());
    }
    names.difference(&QUERIES).cloned().collect()
}

/// Returns the texts of all sources.
fn texts() -> Vec<String> {
    sources("src").into_iter().map(|(_, lines)| lines.join("\n")).collect()
}

fn assert_reached(deployment: &str, expected: &BTreeSet<String>) {
    let listed = listed(deployment);
    let missing: Vec<&String> = expected.iter().filter(|name| !listed.contains(name.as_str())).collect();
    assert!(
        missing.is_empty(),
        "{deployment}: no listed test reaches {missing:?}: write a test, and run `make deployments`"
    );
    let (texts, scripts) = (texts(), script_names());
    let exists = |name: &&str| {
        let text = format!("\"{name}\"");
        texts.iter().any(|source| source.contains(&text)) || scripts.iter().any(|script| script == name)
    };
    let gone: Vec<&str> = listed.into_iter().filter(|name| !exists(name)).collect();
    assert!(gone.is_empty(), "{deployment}: {gone:?} do not exist any more: run `make deployments`");
}

#[test]
fn every_batch_and_every_script_has_a_test_on_a_cluster() {
    let is_exempt = |name: &String| NOT_ON_A_CLUSTER.iter().any(|(other, _)| name == other);
    let names = batches().into_iter().chain(script_names());
    assert_reached("cluster", &names.filter(|name| !is_exempt(name)).collect());
}

#[test]
fn every_query_of_the_archive_has_a_test_on_each_database() {
    for database in ["mariadb", "postgres"] {
        assert_reached(database, &QUERIES);
    }
}

/// Compares the list with what a run has recorded, if `FANFOLD_TEST_REACHED` names its file: `make test` does that
/// after the run on a cluster.
#[test]
fn a_recorded_run_has_reached_what_its_list_says() {
    let Ok(path) = std::env::var("FANFOLD_TEST_REACHED") else { return };
    let record = fs::read_to_string(path).unwrap();
    let mut reached: BTreeMap<&str, HashSet<&str>> = BTreeMap::new();
    for line in record.lines() {
        let [_, on, name] = line.split('\t').collect::<Vec<_>>().try_into().expect("it has three parts");
        reached.entry(on).or_default().insert(name);
    }
    for deployment in LISTED.into_iter().filter(|deployment| reached.contains_key(deployment)) {
        let missing: Vec<&str> =
            listed(deployment).into_iter().filter(|name| !reached[deployment].contains(name)).collect();
        assert!(missing.is_empty(), "{deployment}: {missing:?} were not reached: run `make deployments`");
    }
}

/// Returns the names of all tests.
fn tests() -> Vec<String> {
    let listed = Command::new(std::env::current_exe().unwrap()).arg("--list").output().unwrap();
    let listed = String::from_utf8(listed.stdout).unwrap();
    listed.lines().filter_map(|line| line.strip_suffix(": test")).map(str::to_owned).collect()
}

#[test]
fn the_listed_tests_exist_and_run() {
    let tests = tests();
    for line in LIST.lines().filter(|line| !line.is_empty() && !line.starts_with(['#', ' '])) {
        let (deployment, test) = line.split_once(' ').unwrap();
        assert!(LISTED.contains(&deployment), "{deployment} is a deployment");
        assert!(tests.iter().any(|other| other == test), "{test} exists");
    }
    for deployment in LISTED {
        assert!(MAKEFILE.contains(&format!("$(call listed,{deployment})")), "the Makefile runs {deployment}");
    }
    let rests = |path: &str| Path::new(env!("CARGO_MANIFEST_DIR")).join(path).is_file();
    assert!(rests("tests/npm/deployments.mjs"), "the list can be generated");
}

#[test]
fn a_run_leaves_out_the_tests_that_are_listed_and_no_others() {
    let tests = tests();
    let mut names = HashSet::new();
    for line in LEFT_OUT.lines().filter(|line| !line.is_empty() && !line.starts_with('#')) {
        let words: Vec<&str> = line.splitn(3, ' ').collect();
        let [run, name, _] = words[..] else { panic!("it has a run, a name and a reason: {line}") };
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
        assert!(names.iter().any(|(other, _)| run == *other), "{run} leaves out a test");
        assert!(MAKEFILE.contains(&format!("$(call left_out,{run})")), "the Makefile has the run {run}");
    }
}
