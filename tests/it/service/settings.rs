//! Settings of Redis that cost memory: a server warns of them at start, and starts all the same.

use std::fs;
use std::process::Stdio;

use crate::harness::cluster::Cluster;
use crate::harness::server::{Logged, Server, command};
use crate::harness::world::Redis;

const SETTING: &str = "hash-max-listpack-value";

/// Returns the command that sets the limit of the compact encoding, by the older of its two names, which all versions
/// know.
fn set_limit(limit: &str) -> [&str; 4] {
    ["CONFIG", "SET", "hash-max-ziplist-value", limit]
}

#[test]
fn a_redis_that_stores_posts_in_its_larger_encoding_is_reported_at_start() {
    let redis = Redis::own();
    let log = Logged::start(&redis, &[]).log();
    let warnings: Vec<&str> = log.lines().filter(|line| line.contains(SETTING)).collect();
    assert!(matches!(warnings[..], [line] if line.contains("WARN")), "{log}");
    assert!(warnings[0].contains("is 64 on 1 of 1 Redis servers"), "{log}");
    assert!(warnings[0].contains("set it to 8192"), "{log}");
    redis.raw::<String>(&set_limit("8192"));
    assert!(!Logged::start(&redis, &[]).log().contains(SETTING));
}

#[test]
fn a_server_whose_redis_hides_its_settings_starts_without_a_warning() {
    let redis = Redis::own();
    redis.raw::<String>(&["ACL", "SETUSER", "default", "-config"]);
    assert!(!Logged::start(&redis, &[]).log().contains(SETTING));
}

#[test]
fn fanfolds_own_redis_stores_posts_in_the_compact_encoding() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().to_str().unwrap();
    let log = log_of_server(&["--data-dir", path]);
    assert!(!log.contains(SETTING), "{log}");
}

#[test]
fn every_master_of_a_cluster_is_checked() {
    let (cluster, directory) = (Cluster::start(3, 0), tempfile::tempdir().unwrap());
    for node in &cluster.nodes[..2] {
        node.redis.raw::<String>(&set_limit("8192"));
    }
    cluster.nodes[2].redis.raw::<String>(&set_limit("100"));
    let options = ["--redis-url", &cluster.url(), "--data-dir", directory.path().to_str().unwrap()];
    let log = log_of_server(&options);
    assert!(log.contains(&format!("{SETTING} is 100 on 1 of 3 Redis servers")), "{log}");
}

/// Starts a server, stops it, and returns its log.
fn log_of_server(options: &[&str]) -> String {
    let log = tempfile::NamedTempFile::new().unwrap();
    let arguments = [&["serve", "--http-listen", "127.0.0.1:0"], options].concat();
    let server = Server::run_logging(&mut command(&arguments), Stdio::from(log.reopen().unwrap()));
    assert_eq!(server.stop(), Some(0));
    fs::read_to_string(log.path()).unwrap()
}
