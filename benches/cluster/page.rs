//! A page of followers, requested on a cluster and on a single server.

use std::sync::Arc;
use std::time::Duration;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::app::post::PublishRequest;
use fanfold::model::clock::Timestamp;
use tempfile::TempDir;

use crate::ground::app_at;
use crate::harness::cluster::{Cluster, Moving};
use crate::load::{Exchange, ask, load};
use crate::people::users;
use crate::server::Server;
use crate::times::Times;
use crate::{connection, requests, usage};

/// Number of the user's followers, and of those whom the viewer follows too.
const FOLLOWERS: usize = 1_000;
const FOLLOWED: usize = 500;
/// Number of requests of a user of a moving slot per second.
const RATE: u32 = 20;

/// A server over a Redis that has the user `star` and a viewer.
pub(crate) struct Site {
    server: Server,
    /// The page, requested by the viewer.
    exchange: Exchange,
    directory: TempDir,
}

impl Site {
    pub(crate) async fn new(url: &str) -> Self {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().to_str().unwrap();
        let token = build(&app_at(url, path, &[]).await).await;
        let server = Server::at(url, path, &[]);
        let query = "{ user(by: { username: \"star\" }) { followers(first: 50) {
            nodes { displayName relation { status } } } } }";
        let request = connection::request(query, &format!("authorization: Bearer {token}\r\n"));
        let expected = ask(&server.address, std::slice::from_ref(&request)).await.remove(0);
        assert!(expected.starts_with(b"{\"data\":{\"user\":{"), "{}", String::from_utf8_lossy(&expected));
        Self { server, exchange: Exchange { request, expected }, directory }
    }
}

/// Creates the users and their follows. Returns the viewer's session token.
async fn build(app: &App) -> String {
    let [star, viewer] =
        ["star", "viewer"].map(|name| app.register(name, "correct horse", None, None, None, None));
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

/// Registers a user with posts and followers. Returns the name of one of the user's keys, and requests of the user:
/// some only read lists, and the others wait while the user's slot is half moved.
async fn other_user(app: &App) -> (String, Vec<Vec<u8>>) {
    let opened = app.register("other", "correct horse", None, None, None, None).await.unwrap();
    let (other, token) = (opened.viewer.user().unwrap(), opened.token.expose());
    for content in ["one", "two", "three"] {
        app.publish(
            &opened.viewer,
            PublishRequest { content, platform: Some("bench"), ..PublishRequest::default() },
        )
        .await
        .unwrap();
    }
    let lists = "{ viewer { user { followers(first: 20) { totalCount nodes { username } }
        posts(first: 20) { totalCount nodes { content } } } } }";
    let timeline = "{ viewer { timeline(first: 20) { nodes { content } } } }";
    let authorization = format!("authorization: Bearer {token}\r\n");
    let requests = [lists, timeline].map(|query| connection::request(query, &authorization));
    (app.store().keys().posts(other).name().to_owned(), requests.into())
}

/// Measures the page with and without a half-moved slot, in turns, while a user of that slot sends requests.
pub(crate) async fn compare_moving(
    site: &Site,
    cluster: &Cluster,
    rounds: usize,
    time: Duration,
) -> [Times; 2] {
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
pub(crate) async fn compare(sites: &[Site; 2], rounds: usize, time: Duration) -> [(Times, Times); 2] {
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
