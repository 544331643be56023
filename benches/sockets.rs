//! Measures the effect of clients that use a WebSocket up to all limits and read slowly: on the server's memory, and on
//! other clients' latency.
//!
//! Each client has the maximum number of subscriptions, each with a document of maximum size and hundreds of long posts
//! behind, and the maximum number of queries with responses of megabytes. It reads 8 KB per second, and reconnects when
//! it is disconnected.
//!
//! `cargo bench` measures; `cargo test` only checks that the bench works, with a few clients.

#![allow(clippy::unwrap_used, reason = "a bench that cannot go on shall panic")]
#![allow(clippy::print_stdout, reason = "this is what it is for")]
#![allow(clippy::disallowed_methods, reason = "a bench measures time")]

#[path = "ground/attack.rs"]
mod attack;
#[path = "ground/connection.rs"]
mod connection;
mod ground;
#[path = "ground/requests.rs"]
mod requests;
#[path = "ground/server.rs"]
mod server;
#[path = "ground/times.rs"]
mod times;

use std::fmt::Write as _;
use std::sync::Arc;
use std::time::{Duration, Instant};

use fanfold::app::App;
use fanfold::app::post::PublishRequest;
use futures::SinkExt as _;
use serde_json::{Value, json};
use tokio::io::AsyncReadExt as _;
use tokio::net::TcpSocket;
use tokio::time::{sleep, timeout};
use tokio_tungstenite::client_async;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;

use crate::attack::{Attack, print_latency, print_memory, register};
use crate::ground::{Redis, is_measured};
use crate::server::Server;

/// The numbers of clients and rounds.
struct Sizes {
    /// Number of posts that each subscription is behind.
    posts: usize,
    users: usize,
    clients: usize,
    /// Time for which one client, and then all clients, are measured.
    time: Duration,
    /// Number of rounds in which other clients' queries are measured with and without the slow clients.
    rounds: u32,
}

/// Bytes that a client reads per second.
const READ: usize = 8_192;
/// Operations of each kind per WebSocket: the maximum.
const OPERATIONS: usize = 100;
/// Argument of the process that reads slowly.
const SLOW: &str = "slow";

/// Executes a document, and returns its data. Panics if there are errors.
async fn ask(server: &Server, token: &str, query: &str) -> Value {
    let body = json!({ "query": query }).to_string();
    let url = format!("http://{}/graphql", server.address);
    let authorization = format!("Bearer {token}");
    let ask = move || {
        let request = minreq::post(url).with_header("content-type", "application/json");
        request.with_header("authorization", authorization).with_body(body).send().unwrap()
    };
    let answer = tokio::task::spawn_blocking(ask).await.unwrap();
    let answer: Value = answer.json().unwrap();
    assert_eq!(answer.get("errors"), None, "{query}");
    answer
}

/// Returns a subscription with the maximum number of fields.
fn large_subscription() -> String {
    let mut fields = String::new();
    for number in 0..28 {
        write!(fields, " a{number}: author {{ id username displayName bio createdAt }}").unwrap();
    }
    format!(
        "subscription ($after: String) {{ timeline(after: $after) {{ ... on PostAdded {{ cursor edge {{ node {{ content {fields} }} }} }} }} }}"
    )
}

/// Returns a query with a response of some megabytes.
fn large_query(author: &str) -> String {
    let ids = format!("\"{author}\", ").repeat(9);
    format!("{{ nodes(ids: [{ids}]) {{ ... on User {{ posts(first: 100) {{ nodes {{ content }} }} }} }} }}")
}

/// Uses a WebSocket up to all limits and reads slowly, until the server disconnects it.
async fn read_slowly(address: &str, token: &str, after: &Value, query: &str) -> Option<()> {
    let connection = TcpSocket::new_v4().unwrap();
    connection.set_recv_buffer_size(4_096).unwrap();
    let connection = connection.connect(address.parse().unwrap()).await.ok()?;
    let mut request = format!("ws://{address}/graphql").into_client_request().unwrap();
    let protocol = HeaderValue::from_static("graphql-transport-ws");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let (mut socket, _) = client_async(request, connection).await.ok()?;
    let mut messages = vec![json!({
        "type": "connection_init", "payload": { "Authorization": format!("Bearer {token}") }
    })];
    let watch = json!({ "query": large_subscription(), "variables": { "after": after } });
    for number in 0..OPERATIONS {
        // The ids have the maximum length.
        let id = |kind: &str| format!("{kind}{number:0>511}");
        messages.push(json!({ "id": id("w"), "type": "subscribe", "payload": watch }));
        messages.push(json!({ "id": id("q"), "type": "subscribe", "payload": { "query": query } }));
    }
    let (mut writing, mut read) = (true, vec![0; READ]);
    let mut messages = messages.into_iter();
    let mut next = messages.next();
    loop {
        let until = Instant::now() + Duration::from_secs(1);
        // Keeps sending messages while the server accepts them.
        while let Some(message) = next.as_ref().filter(|_| writing) {
            let said = socket.send(Message::text(message.to_string()));
            match timeout(until.saturating_duration_since(Instant::now()), said).await {
                Ok(Ok(())) => next = messages.next(),
                Ok(Err(_)) => return None,
                // A half-sent message must not be restarted.
                Err(_elapsed) => writing = false,
            }
        }
        let mut left = READ;
        while left > 0 {
            let reading = socket.get_mut().read(&mut read[..left]);
            match timeout(until.saturating_duration_since(Instant::now()), reading).await {
                Ok(Ok(0) | Err(_)) => return None,
                Ok(Ok(bytes)) => left -= bytes,
                Err(_elapsed) => break,
            }
        }
        sleep(until.saturating_duration_since(Instant::now())).await;
    }
}

/// Keeps slow clients running for ever, one user each.
async fn keep_reading_slowly(address: &str, clients: usize, users: Vec<(String, Value)>, query: String) {
    let users = Arc::new(users);
    let mut reading = Vec::new();
    for client in 0..clients {
        let (users, address, query) = (Arc::clone(&users), address.to_owned(), query.clone());
        reading.push(tokio::spawn(async move {
            let (token, after) = &users[client % users.len()];
            loop {
                read_slowly(&address, token, after, &query).await;
                sleep(Duration::from_millis(500)).await;
            }
        }));
    }
    futures::future::join_all(reading).await;
}

/// Prepares users whose home timelines have long posts after a cursor. Returns their tokens and cursors, and the
/// author's id.
async fn prepare(server: &Server, app: &App, sizes: &Sizes) -> (Vec<(String, Value)>, String) {
    let author = register(app, "author", 1).await.remove(0);
    let users = register(app, "user", sizes.users).await;
    for user in &users {
        app.follow(&user.viewer, author.viewer.user().unwrap()).await.unwrap();
    }
    let publish = async |content: &str| {
        app.publish(&author.viewer, PublishRequest { content, ..PublishRequest::default() }).await.unwrap()
    };
    let mut cursors = Vec::new();
    publish("start").await;
    for user in users {
        let token = user.token.expose().clone();
        let page = "{ viewer { timeline { pageInfo { startCursor } } } }";
        let answer = ask(server, &token, page).await;
        cursors.push((token, answer["data"]["viewer"]["timeline"]["pageInfo"]["startCursor"].clone()));
    }
    // The maximum length of a post, in characters of four bytes.
    let long = "\u{1f426}".repeat(2_000);
    for _ in 0..sizes.posts {
        publish(&long).await;
    }
    let id = ask(server, &author.token.expose(), "{ viewer { user { id } } }").await;
    (cursors, id["data"]["viewer"]["user"]["id"].as_str().unwrap().to_owned())
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [SLOW, address, clients, users, query] =
        arguments.iter().map(String::as_str).collect::<Vec<_>>()[..]
    {
        let users = serde_json::from_str(users).unwrap();
        return keep_reading_slowly(address, clients.parse().unwrap(), users, query.to_owned()).await;
    }
    let sizes = if is_measured() {
        Sizes { posts: 900, users: 20, clients: 100, time: Duration::from_secs(30), rounds: 3 }
    } else {
        Sizes { posts: 30, users: 2, clients: 3, time: Duration::from_secs(2), rounds: 1 }
    };
    let redis = Redis::start(None);
    let app = redis.app(&["--post-publishes-per-author", "1000000"]).await;
    let server = Server::start(&redis, &[]);
    let (users, author) = prepare(&server, &app, &sizes).await;
    let query = large_query(&author);
    let users = serde_json::to_string(&users).unwrap();
    let attack =
        |clients: usize| Attack::begin(&[SLOW, &server.address, &clients.to_string(), &users, &query]);
    println!("{:<54} {:>9} {:>9}", "clients that do all they may and read 8 KB/s", "before", "MiB more");
    for clients in [1, sizes.clients] {
        print_memory(&server, clients, sizes.time, attack(clients)).await;
    }
    let turns = (sizes.rounds, sizes.time / 3);
    print_latency(&server, &app, turns, sizes.clients, || attack(sizes.clients)).await;
}
