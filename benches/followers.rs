//! Measures pages of the followers of a user with very many followers and of a user with few, each follower with the
//! relation to the viewer and the list with its length, in turns on the same server.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, with few followers.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

mod ground;
#[path = "peers/load.rs"]
mod load;
#[path = "ground/people.rs"]
mod people;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;

use std::time::Duration;

use fanfold::app::App;
use fanfold::app::import::ImportFollow;
use fanfold::model::clock::Timestamp;
use fanfold::model::id::UserId;
use serde_json::json;

use crate::ground::{Redis, is_measured};
use crate::load::{Exchange, ask, load};
use crate::people::users;
use crate::server::Server;
use crate::times::Times;

/// Arguments of the measured pages: the newest and the oldest followers.
const PAGES: [&str; 2] = ["first: 50", "last: 50"];

/// The numbers of followers and rounds.
struct Sizes {
    many: usize,
    few: usize,
    /// Number of followers, among the newest and the oldest, whom the viewer follows.
    followed: usize,
    rounds: usize,
    /// Duration of a round for one page of one user.
    time: Duration,
}

/// Creates the users `many`, `few` and `viewer`, and the follows. Returns the viewer's session token.
async fn build(app: &App, sizes: &Sizes) -> String {
    let mut ids = Vec::new();
    let mut token = String::new();
    for name in ["many", "few", "viewer"] {
        let opened = app.register(name, "correct horse", None, None, None, None).await.unwrap();
        ids.push(opened.viewer.user().unwrap());
        token = opened.token.expose();
    }
    let fans = users(app, sizes.many).await;
    follow(app, fans.iter().map(|fan| (*fan, ids[0]))).await;
    follow(app, fans[..sizes.few].iter().map(|fan| (*fan, ids[1]))).await;
    let (oldest, newest) = (&fans[..sizes.followed], &fans[fans.len() - sizes.followed..]);
    follow(app, oldest.iter().chain(newest).map(|fan| (ids[2], *fan))).await;
    token
}

/// Imports follows, each of them a millisecond later than the one before.
async fn follow(app: &App, follows: impl Iterator<Item = (UserId, UserId)>) {
    let follow = |(at, (follower, followee))| ImportFollow { follower, followee, at };
    let times = (1..).map(Timestamp::from_millis);
    let follows: Vec<ImportFollow> = times.zip(follows).map(follow).collect();
    for follows in follows.chunks(5_000) {
        app.import_follows(follows.to_vec()).await.unwrap();
    }
}

/// Returns the request for a page of a user's followers, with its response.
async fn exchange(server: &Server, token: &str, username: &str, page: &str) -> Exchange {
    let query = format!(
        "{{ user(by: {{ username: \"{username}\" }}) {{ followers({page}) {{
            totalCount nodes {{ username displayName relation {{ status }} }} }} }} }}"
    );
    let body = json!({ "query": query }).to_string();
    let request = format!(
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\nauthorization: Bearer {token}\r\n\
         content-type: application/json\r\ncontent-length: {}\r\n\r\n{body}",
        body.len()
    );
    let request = request.into_bytes();
    let expected = ask(&server.address, std::slice::from_ref(&request)).await.remove(0);
    assert!(expected.starts_with(b"{\"data\":{\"user\":{"), "{}", String::from_utf8_lossy(&expected));
    Exchange { request, expected }
}

/// Measures a page of both users in turns, over one connection.
async fn compare(server: &Server, token: &str, page: &str, sizes: &Sizes) {
    let exchanges = [exchange(server, token, "few", page).await, exchange(server, token, "many", page).await];
    let mut times = [Times::default(), Times::default()];
    let mut rates = [0.0, 0.0];
    for round in 0..=sizes.rounds {
        for (exchange, (times, rate)) in exchanges.iter().zip(times.iter_mut().zip(&mut rates)) {
            let load = load(&server.address, std::slice::from_ref(exchange), 1, sizes.time).await;
            *rate = load.rate();
            // The first round is a warm-up.
            times.0.extend(load.requests.into_iter().filter(|_| round > 0));
        }
    }
    let [few, many] = times;
    few.print(&format!("{page}, {} followers", sizes.few));
    many.print(&format!("{page}, {} followers", sizes.many));
    let ratio = many.quantile(50) / few.quantile(50);
    println!(
        "many : few = {ratio:.2} (medians); requests/s in the last round: {:.0}, {:.0}",
        rates[0], rates[1]
    );
}

#[tokio::main]
async fn main() {
    let sizes = if is_measured() {
        let time = Duration::from_millis(500);
        Sizes { many: 1_000_000, few: 1_000, followed: 200, rounds: 9, time }
    } else {
        Sizes { many: 300, few: 60, followed: 20, rounds: 1, time: Duration::from_millis(10) }
    };
    let redis = Redis::start(None);
    let token = build(&redis.app(&[]).await, &sizes).await;
    println!("milliseconds {:>47} {:>9} {:>9}", "median", "90 %", "most");
    for strategy in ["zinterstore", "zmscore"] {
        let server = Server::start(&redis, &["--relation-strategy", strategy]);
        println!("{strategy}");
        for page in PAGES {
            compare(&server, &token, page, &sizes).await;
        }
    }
}
