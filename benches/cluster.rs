//! Measures the same page of followers on a cluster and on a single server, in turns: its latency while each node responds
//! late, and the CPU time of the server without such a delay. Then measures it while the slot of another user is half
//! moved, and while no slot is.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, in one short round.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]
#![allow(dead_code, reason = "the shared modules have more than this bench needs")]

mod ground;
/// The cluster of the tests, and its proxies.
#[path = "../tests/it/harness"]
mod harness {
    pub(crate) mod cluster;
    pub(crate) mod instance;
    pub(crate) mod proxy;
}
#[path = "peers/load.rs"]
mod load;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/requests.rs"]
mod requests;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;
#[path = "peers/usage.rs"]
mod usage;

use std::sync::Arc;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::model::clock::Timestamp;
use tempfile::TempDir;

use crate::ground::{Redis, app_at, is_measured};
use crate::harness::cluster::{Cluster, Moving, Node, free_ports};
use crate::harness::proxy::Proxy;
use crate::load::{Exchange, ask, load};
use crate::people::users;
use crate::server::Server;
use crate::times::Times;

/// Number of masters of the cluster.
const MASTERS: usize = 3;
/// Number of the user's followers, and of those whom the viewer follows too.
const FOLLOWERS: usize = 1_000;
const FOLLOWED: usize = 500;
/// Time after which a client receives what a node has sent.
const DELAY: Duration = Duration::from_millis(5);
/// Number of requests of a user of a moving slot per second.
const RATE: u32 = 20;

/// A server over a Redis that has the user `star` and a viewer.
struct Site {
    name: &'static str,
    server: Server,
    /// The page, requested by the viewer.
    exchange: Exchange,
    directory: TempDir,
}

impl Site {
    async fn new(name: &'static str, url: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let token = build(&app_at(url, path, &[]).await).await;
        let server = Server::at(url, path, &[]);
        let query = "{ user(by: { username: \"star\" }) { followers(first: 50) {
            nodes { displayName relation { status } } } } }";
        let request = requests::request(query, &format!("authorization: Bearer {token}\r\n"));
        let expected = ask(&server.address, std::slice::from_ref(&request)).await.remove(0);
        assert!(expected.starts_with(b"{\"data\":{\"user\":{"), "{}", String::from_utf8_lossy(&expected));
        Self { name, server, exchange: Exchange { request, expected }, directory }
    }
}

/// Creates the users and their follows. Returns the viewer's session token.
async fn build(app: &App) -> String {
    let [star, viewer] = ["star", "viewer"].map(|name| app.register(name, "correct horse", None, None, None));
    let (star, viewer) = (star.await.unwrap(), viewer.await.unwrap());
    let [star, reader] = [&star, &viewer].map(|opened| opened.viewer.user().unwrap());
    let fans = users(app, FOLLOWERS).await;
    let followers = fans.iter().map(|fan| (*fan, star));
    let followed = fans[FOLLOWERS - FOLLOWED..].iter().map(|fan| (reader, *fan));
    let follow = |(at, (follower, followee))| ImportFollow { follower, followee, at };
    let times = (1..).map(Timestamp::from_millis);
    app.import_follows(times.zip(followers.chain(followed)).map(follow).collect()).await.unwrap();
    viewer.token.expose()
}

/// Registers a user with posts and followers. Returns the name of one of the user's keys, and requests of the user: some
/// only read lists, and the others wait while the user's slot is half moved.
async fn other_user(app: &App) -> (String, Vec<Vec<u8>>) {
    let opened = app.register("other", "correct horse", None, None, None).await.unwrap();
    let (other, token) = (opened.viewer.user().unwrap(), opened.token.expose());
    for content in ["one", "two", "three"] {
        app.publish(&opened.viewer, content, Some("bench"), None).await.unwrap();
    }
    let lists = "{ viewer { user { followers(first: 20) { totalCount nodes { username } }
        posts(first: 20) { totalCount nodes { content } } } } }";
    let timeline = "{ viewer { timeline(first: 20) { nodes { content } } } }";
    let authorization = format!("authorization: Bearer {token}\r\n");
    let requests = [lists, timeline].map(|query| requests::request(query, &authorization));
    (app.store().keys().posts(other).name().to_owned(), requests.into())
}

/// Measures the page with and without a half-moved slot, in turns, while a user of that slot sends requests.
async fn compare_moving(site: &Site, cluster: &Cluster, rounds: usize, time: Duration) -> [Times; 2] {
    let directory = site.directory.path().to_str().unwrap();
    let (key, requests) = other_user(&app_at(&cluster.url(), directory, &[]).await).await;
    let (address, requests) = (&site.server.address, Arc::new(requests));
    let mut times = [(); 2].map(|()| Times::default());
    for round in 0..=rounds {
        for (is_moving, times) in [false, true].into_iter().zip(&mut times) {
            let moving = is_moving.then(|| cluster.begin_to_move_slot(&key));
            if let Some(moving) = &moving {
                moving.move_key(&key);
            }
            let others = requests::send_at_rate(address, RATE, time, Arc::clone(&requests));
            let page = std::slice::from_ref(&site.exchange);
            let (load, _) = tokio::join!(load(address, page, 1, time), others);
            moving.into_iter().for_each(Moving::end);
            // The first round is a warm-up.
            if round > 0 {
                times.0.extend(load.requests);
            }
        }
    }
    times
}

/// Measures both sites in turns, over one connection each. Returns for each the durations of its requests, and the
/// server's CPU time of each round per request.
async fn compare(sites: &[Site; 2], rounds: usize, time: Duration) -> [(Times, Times); 2] {
    let mut measured = [(); 2].map(|()| (Times::default(), Times::default()));
    assert_eq!(sites[0].exchange.expected, sites[1].exchange.expected);
    for round in 0..=rounds {
        for (site, (times, used)) in sites.iter().zip(&mut measured) {
            let cpu = || usage::cpu(site.server.process.id());
            let before = cpu();
            let load = load(&site.server.address, std::slice::from_ref(&site.exchange), 1, time).await;
            let requests = u32::try_from(load.requests.len()).unwrap();
            // The first round is a warm-up.
            if round > 0 {
                times.0.extend(load.requests);
                used.0
                    .extend(before.zip(cpu()).map(|(before, after)| after.saturating_sub(before) / requests));
            }
        }
    }
    measured
}

/// Prints the times of both sites, and the ratio of their medians.
fn print(sites: &[Site; 2], what: &str, times: [&Times; 2]) {
    if times.iter().any(|times| times.0.is_empty()) {
        return println!("{what}: not measured, there is no /proc");
    }
    for (site, times) in sites.iter().zip(times) {
        times.print(&format!("{what}, {}", site.name));
    }
    let [single, cluster] = times.map(|times| times.quantile(50));
    println!("cluster : single = {:.2} (medians)", cluster / single);
}

#[tokio::main]
async fn main() {
    let (rounds, time) =
        if is_measured() { (10, Duration::from_secs(1)) } else { (1, Duration::from_millis(100)) };
    println!("milliseconds {:>47} {:>9} {:>9}", "median", "90 %", "most");
    {
        let [port] = free_ports();
        let (redis, cluster) = (Redis::start(Some(port)), Cluster::start_behind_proxies(MASTERS, 0, &[]));
        let proxy = Proxy::before(port);
        let single = Site::new("single server", &format!("redis://127.0.0.1:{}", proxy.port)).await;
        let sites = [single, Site::new("cluster", &cluster.url()).await];
        for proxy in cluster.nodes.iter().map(Node::proxy).chain([&proxy]) {
            proxy.delay_replies(DELAY);
        }
        let measured = compare(&sites, rounds, time).await;
        print(&sites, "a page, each node 5 ms late", measured.each_ref().map(|(times, _)| times));
        drop(redis);
    }
    let [port] = free_ports();
    let (redis, cluster) = (Redis::start(Some(port)), Cluster::start(MASTERS, 0));
    let sites = [Site::new("single server", &redis.url()).await, Site::new("cluster", &cluster.url()).await];
    let measured = compare(&sites, rounds, time).await;
    print(&sites, "a page", measured.each_ref().map(|(times, _)| times));
    print(&sites, "CPU time of the server per page", measured.each_ref().map(|(_, used)| used));
    let times = compare_moving(&sites[1], &cluster, rounds, time).await;
    for (times, what) in times.iter().zip(["no slot moves", "the slot of another user is half moved"]) {
        times.print(&format!("a page, {what}"));
    }
    let [still, moving] = times.map(|times| times.quantile(99));
    println!("99 %: {still:.2} and {moving:.2}, half moved : still = {:.2}", moving / still);
}
