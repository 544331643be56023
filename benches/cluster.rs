//! Measures on a cluster, and writes the figures of `docs/cluster.md`:
//! - The same page of followers on the cluster and on a single server, in turns: its latency while each node responds
//!   late, and the CPU time of the server without such a delay.
//! - The page while the slot of another user is half moved, and while no slot is.
//! - Deliveries to followers who listen and who do not, and how soon listeners are woken after a failover.
//!
//! `cargo bench` measures, with `--write` also writes the page; `cargo test` only checks that the bench works, in one
//! short round.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]
#![allow(dead_code, reason = "the shared modules have more than this bench needs")]

#[path = "ground/connection.rs"]
mod connection;
mod ground;
/// The cluster of the tests, and its proxies.
#[path = "../tests/it/harness"]
mod harness {
    pub(crate) mod cluster;
    pub(crate) mod instance;
    pub(crate) mod port;
    pub(crate) mod proxy;
    pub(crate) mod wait;
}
#[path = "cluster/listeners.rs"]
mod listeners;
#[path = "peers/load.rs"]
mod load;
#[path = "cluster/page.rs"]
mod page;
#[path = "ground/people.rs"]
mod people;
#[path = "cluster/report.rs"]
mod report;
#[path = "ground/requests.rs"]
mod requests;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;
#[path = "peers/usage.rs"]
mod usage;

use std::fs;
use std::path::{Path, PathBuf};
use std::time::Duration;

use crate::ground::{Redis, is_measured};
use crate::harness::cluster::{Cluster, Node};
use crate::harness::port::free_ports;
use crate::harness::proxy::Proxy;
use crate::listeners::Audience;
use crate::page::{Site, compare, compare_moving};
use crate::report::{Comparison, Failover, Measured, Side};
use crate::times::Times;

/// Number of masters of a cluster.
const MASTERS: usize = 3;
/// Time after which a client receives what a node has sent.
const DELAY: Duration = Duration::from_millis(5);
const PAGE: &str = "docs/cluster.md";
const MEASUREMENTS: &str = "benches/cluster/measured.json";

/// How much is measured.
struct Effort {
    /// Number of rounds in which a page is requested, and the time of each.
    rounds: usize,
    time: Duration,
    /// Number of followers who listen, and of posts that are delivered to them in a round.
    followers: usize,
    posts: usize,
}

/// Measures the page on both deployments while each node responds late.
async fn late(effort: &Effort) -> Comparison {
    let [port] = free_ports();
    let (redis, cluster) = (Redis::start(Some(port)), Cluster::start_behind_proxies(MASTERS, 0, &[]));
    let proxy = Proxy::before(port);
    let single = Site::new(&format!("redis://127.0.0.1:{}", proxy.port)).await;
    let sites = [single, Site::new(&cluster.url()).await];
    for proxy in cluster.nodes.iter().map(Node::proxy).chain([&proxy]) {
        proxy.delay_replies(DELAY);
    }
    let times = compare(&sites, effort.rounds, effort.time).await.map(|(times, _)| times.quantile(50));
    drop(redis);
    of_deployments("Page of 50 followers, each node responds 5 ms late, median", times)
}

fn comparison(what: &str, unit: &str, sides: [(&str, f64); 2]) -> Comparison {
    let sides = sides.map(|(name, value)| Side { name: name.to_owned(), value });
    Comparison { what: what.to_owned(), unit: unit.to_owned(), sides }
}

/// Compares a single server with a cluster, in milliseconds.
fn of_deployments(what: &str, [single, cluster]: [f64; 2]) -> Comparison {
    comparison(what, " ms", [("single server", single), ("cluster", cluster)])
}

/// Measures the page on both deployments, and on the cluster also while a slot moves.
async fn pages(effort: &Effort) -> Vec<Comparison> {
    let [port] = free_ports();
    let (redis, cluster) = (Redis::start(Some(port)), Cluster::start(MASTERS, 0));
    let sites = [Site::new(&redis.url()).await, Site::new(&cluster.url()).await];
    let measured = compare(&sites, effort.rounds, effort.time).await;
    let quantiles = |times: [&Times; 2], percent| times.map(|times| times.quantile(percent));
    let times = quantiles(measured.each_ref().map(|(times, _)| times), 50);
    let mut comparisons = vec![of_deployments("The same without a delay, on one machine, median", times)];
    // There is no /proc everywhere.
    let used = measured.each_ref().map(|(_, used)| used);
    if used.iter().all(|used| !used.0.is_empty()) {
        comparisons.push(of_deployments("CPU time of the server per page, median", quantiles(used, 50)));
    }
    let times = compare_moving(&sites[1], &cluster, effort.rounds, effort.time).await;
    let [still, moving] = quantiles(times.each_ref(), 99);
    let sides = [("no slot moves", still), ("another user's slot is half moved", moving)];
    comparisons.push(comparison("The page, 99 %", " ms", sides));
    comparisons
}

/// Measures deliveries on a cluster with replicas.
async fn deliveries(effort: &Effort) -> (Comparison, Failover) {
    let (mut cluster, directory) = (Cluster::start(MASTERS, 1), tempfile::tempdir().unwrap());
    let path = directory.path().to_str().unwrap();
    let audience = Audience::new(&cluster, path, effort.followers).await;
    let [alone, beside] = audience.compare(effort.rounds, effort.posts).await;
    let listening = format!("{} followers listen", effort.followers);
    let sides = [("nobody listens", alone), (&listening[..], beside)];
    let delivered = comparison("Deliveries per second, median", "", sides);
    (delivered, audience.fail_over(&mut cluster).await)
}

/// Returns the version of Redis.
fn version() -> String {
    let redis = Redis::start(None);
    let mut connection = redis.client().get_connection().unwrap();
    let info: redis::InfoDict = redis::cmd("INFO").arg("server").query(&mut connection).unwrap();
    info.get("redis_version").unwrap()
}

#[tokio::main]
async fn main() {
    let effort = if is_measured() {
        Effort { rounds: 10, time: Duration::from_secs(1), followers: 10_000, posts: 20 }
    } else {
        Effort { rounds: 1, time: Duration::from_millis(100), followers: 20, posts: 2 }
    };
    let mut comparisons = vec![late(&effort).await];
    comparisons.extend(pages(&effort).await);
    let (delivered, failover) = deliveries(&effort).await;
    comparisons.push(delivered);
    let day = jiff::Timestamp::now().strftime("%F").to_string();
    let measured = Measured { day, redis: version(), comparisons, failover };
    println!("{}", report::section(&measured));
    if std::env::args().any(|argument| argument == "--write") {
        let json = serde_json::to_string_pretty(&measured).unwrap();
        fs::write(path(MEASUREMENTS), json + "\n").unwrap();
        let page = fs::read_to_string(path(PAGE)).unwrap();
        fs::write(path(PAGE), report::in_page(&page, &measured)).unwrap();
    }
}

fn path(file: &str) -> PathBuf {
    Path::new(env!("CARGO_MANIFEST_DIR")).join(file)
}
