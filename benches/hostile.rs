//! Measures the effect of a hundred hostile clients of one address on the server's memory, and on the latency of a
//! client of another address. Each does one of these, over and over:
//! - opens WebSockets, requests megabytes over each, and reads nothing;
//! - sends expensive operations over dozens of connections, which wait for each other;
//! - begins request heads on dozens of connections, and does not end them;
//! - uses a long variable as often as an operation may, over WebSockets.
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
use std::net::SocketAddr;
use std::time::Duration;

use fanfold::app::post::PublishRequest;
use futures::SinkExt as _;
use futures::future::join_all;
use serde_json::{Value, json};
use tokio::io::{AsyncReadExt as _, AsyncWriteExt as _};
use tokio::net::{TcpSocket, TcpStream};
use tokio::time::{sleep, timeout};
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::{WebSocketStream, client_async};

use crate::attack::{Attack, print_latency, print_memory, register};
use crate::connection::request;
use crate::ground::{Redis, is_measured};
use crate::server::Server;

/// Argument of the process with the hostile clients.
const HOSTILE: &str = "hostile";
/// Their address. Others use 127.0.0.1.
const FROM: [u8; 4] = [127, 0, 0, 2];
/// Connections or WebSockets of a client.
const CONNECTIONS: usize = 40;
/// Time for which a client keeps what it holds, unless the server ends it.
const HELD: Duration = Duration::from_secs(20);
/// Pause before a client begins again.
const PAUSE: Duration = Duration::from_millis(200);
/// Size of a long text, in bytes: less than the limits of heads, bodies and messages.
const LONG: usize = 60_000;

async fn connect(address: &str) -> Option<TcpStream> {
    let socket = TcpSocket::new_v4().unwrap();
    socket.set_recv_buffer_size(4_096).unwrap();
    socket.bind(SocketAddr::from((FROM, 0))).unwrap();
    socket.connect(address.parse().unwrap()).await.ok()
}

async fn open(address: &str) -> Option<WebSocketStream<TcpStream>> {
    let mut request = format!("ws://{address}/graphql").into_client_request().unwrap();
    let protocol = HeaderValue::from_static("graphql-transport-ws");
    request.headers_mut().insert("sec-websocket-protocol", protocol);
    let (mut socket, _) = client_async(request, connect(address).await?).await.ok()?;
    say(&mut socket, &json!({ "type": "connection_init" })).await?;
    Some(socket)
}

/// Sends a message, if the server takes it.
async fn say(socket: &mut WebSocketStream<TcpStream>, message: &Value) -> Option<()> {
    timeout(HELD, socket.send(Message::text(message.to_string()))).await.ok()?.ok()
}

fn subscribe(number: usize, query: &str, variables: &Value) -> Value {
    let payload = json!({ "query": query, "variables": variables });
    json!({ "id": number.to_string(), "type": "subscribe", "payload": payload })
}

/// Requests megabytes over a WebSocket, and reads nothing.
async fn read_nothing(address: &str) -> Option<()> {
    let pages: Vec<String> =
        (0..8).map(|page| format!("p{page}: posts(first: 100) {{ nodes {{ content }} }}")).collect();
    let query = format!("{{ user(by: {{ username: \"author0\" }}) {{ {} }} }}", pages.concat());
    let mut socket = open(address).await?;
    for number in 0..100 {
        say(&mut socket, &subscribe(number, &query, &Value::Null)).await?;
    }
    sleep(HELD).await;
    Some(())
}

/// Sends an operation that is large and expensive, and reads the response slowly.
async fn queue(address: &str) -> Option<()> {
    let mut query = String::from("{ user(by: { username: \"author0\" }) { ");
    for page in 0..10 {
        let fields: Vec<String> = (0..80).map(|field| format!("f{field}: content ")).collect();
        let fields = fields.concat();
        write!(query, "p{page}: posts(first: 100) {{ nodes {{ {fields} }} }} ").unwrap();
    }
    let spaces = " ".repeat(LONG.saturating_sub(query.len()));
    let mut stream = connect(address).await?;
    stream.write_all(&request(&format!("{query}{spaces}}} }}"), "")).await.ok()?;
    read_slowly(&mut stream).await;
    Some(())
}

/// Begins a request head, and does not end it.
async fn begin_head(address: &str) -> Option<()> {
    let mut stream = connect(address).await?;
    let filler = "x".repeat(LONG);
    let head = format!("GET /graphql?query={{__typename}} HTTP/1.1\r\nhost: localhost\r\nx-filler: {filler}");
    stream.write_all(head.as_bytes()).await.ok()?;
    read_slowly(&mut stream).await;
    Some(())
}

/// Uses a long variable as often as possible, in operations of every size that a WebSocket takes.
async fn repeat_variable(address: &str) -> Option<()> {
    let mut socket = open(address).await?;
    let long = json!({ "name": "x".repeat(LONG - 10_000) });
    for number in 0..100 {
        let mut query = String::from("query ($name: String!) { ");
        for user in 0..=(number % 16) {
            write!(query, "u{user}: user(by: {{ username: $name }}) {{ id }} ").unwrap();
        }
        query.push('}');
        say(&mut socket, &subscribe(number, &query, &long)).await?;
    }
    sleep(HELD).await;
    Some(())
}

/// Reads some bytes a second until the server closes the connection, for some time.
async fn read_slowly(stream: &mut TcpStream) {
    let mut bytes = [0; 1_024];
    for _ in 0..HELD.as_secs() {
        if matches!(timeout(Duration::from_secs(1), stream.read(&mut bytes)).await, Ok(Ok(0) | Err(_))) {
            return;
        }
        sleep(Duration::from_secs(1)).await;
    }
}

/// Runs a connection of a client for ever.
async fn repeat(address: String, client: usize) {
    loop {
        match client % 4 {
            0 => read_nothing(&address).await,
            1 => queue(&address).await,
            2 => begin_head(&address).await,
            _ => repeat_variable(&address).await,
        };
        sleep(PAUSE).await;
    }
}

#[tokio::main]
async fn main() {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    if let [HOSTILE, address, clients] = arguments.iter().map(String::as_str).collect::<Vec<_>>()[..] {
        let clients = 0..clients.parse().unwrap();
        let connections = clients.flat_map(|client| (0..CONNECTIONS).map(move |_| client));
        let running = connections.map(|client| tokio::spawn(repeat(address.to_owned(), client)));
        join_all(running.collect::<Vec<_>>()).await;
        return;
    }
    let (clients, rounds, time) =
        if is_measured() { (100, 3, Duration::from_secs(30)) } else { (4, 1, Duration::from_secs(2)) };
    let redis = Redis::start(None);
    let app = redis.app(&["--post-publishes-per-author", "1000000"]).await;
    let author = register(&app, "author", 1).await.remove(0);
    // The maximum length of a post, in characters of four bytes.
    let content = &"\u{1f426}".repeat(2_000);
    for _ in 0..100 {
        let publish = PublishRequest { content, ..PublishRequest::default() };
        app.publish(&author.viewer, publish).await.unwrap();
    }
    let server = Server::start(&redis, &[]);
    let attack = || Attack::begin(&[HOSTILE, &server.address, &clients.to_string()]);
    println!("{:<54} {:>9} {:>9}", "hostile clients of one address", "before", "MiB more");
    print_memory(&server, clients, time, attack()).await;
    print_latency(&server, &app, (rounds, time / 3), clients, attack).await;
}
