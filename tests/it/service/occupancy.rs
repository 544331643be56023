//! Memory for requests and responses in progress: clients that send and do not finish, or do not read, occupy no more
//! than the part of their address, and get an error that says so. Others are served.

use std::io::{Read as _, Write as _};
use std::net::{SocketAddr, TcpStream};
use std::time::Duration;

use serde_json::{Value, json};
use tokio::net::TcpSocket;
use tokio_tungstenite::tungstenite::Message;
use tokio_tungstenite::tungstenite::protocol::frame::Frame;
use tokio_tungstenite::tungstenite::protocol::frame::coding::{Data, OpCode};

use crate::harness::feed::publish;
use crate::harness::server::{Server, metric};
use crate::harness::socket::Socket;
use crate::harness::wait::{LIMIT, eventually};
use crate::harness::world::Redis;

/// The limit of a server in these tests, and the part of an address.
const LIMIT_BYTES: &str = "8388608";
const PART_OF_ADDRESS: f64 = 1_048_576.0;

fn server(redis: &Redis, options: &[&str]) -> Server {
    Server::over(redis, &[&["--http-memory-limit", LIMIT_BYTES], options].concat())
}

fn occupied(server: &Server) -> f64 {
    metric(server, "fanfold_http_memory_bytes")
}

/// Asserts that clients of another address are served.
fn assert_others_are_served(server: &Server) {
    let mut other = connect_from(server, [127, 0, 0, 2]);
    ask(&mut other, "{ __typename }");
    assert_eq!(status(&mut other), 200);
}

fn connect_from(server: &Server, address: [u8; 4]) -> TcpStream {
    let runtime = tokio::runtime::Handle::current();
    let to: SocketAddr = server.address.parse().unwrap();
    let connecting = async move {
        let socket = TcpSocket::new_v4().unwrap();
        socket.set_recv_buffer_size(4_096).unwrap();
        socket.bind(SocketAddr::from((address, 0))).unwrap();
        socket.connect(to).await.unwrap().into_std().unwrap()
    };
    let stream = tokio::task::block_in_place(|| runtime.block_on(connecting));
    stream.set_nonblocking(false).unwrap();
    stream.set_read_timeout(Some(LIMIT)).unwrap();
    stream
}

fn ask(stream: &mut TcpStream, query: &str) {
    let body = json!({ "query": query }).to_string();
    let length = body.len();
    write!(
        stream,
        "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}"
    )
    .unwrap();
}

/// Reads the status of a response, and none of the rest.
fn status(stream: &mut TcpStream) -> u16 {
    let mut head = [0; 12];
    stream.read_exact(&mut head).unwrap();
    String::from_utf8_lossy(&head)[9..].parse().unwrap()
}

#[tokio::test(flavor = "multi_thread")]
async fn unfinished_bodies_occupy_the_part_of_their_address() {
    let redis = Redis::start();
    let server = server(&redis, &[]);
    let part = " ".repeat(60_000);
    let mut open: Vec<TcpStream> = (0..30).map(|_| connect_from(&server, [127, 0, 0, 1])).collect();
    for stream in &mut open {
        write!(
            stream,
            "POST /graphql HTTP/1.1\r\nhost: localhost\r\ncontent-type: application/json\r\ncontent-length: 65000\r\n\r\n{part}"
        )
        .unwrap();
    }
    assert!(eventually(|| occupied(&server) > PART_OF_ADDRESS - 130_000.0));
    assert_others_are_served(&server);
    assert!(occupied(&server) <= PART_OF_ADDRESS);
    // A small request of the same address needs no shared memory.
    let mut small = connect_from(&server, [127, 0, 0, 1]);
    ask(&mut small, "{ __typename }");
    assert_eq!(status(&mut small), 200);
    // Those that found no room have an answer without sending the rest.
    let rejected = open.iter_mut().filter_map(|stream| {
        stream.set_read_timeout(Some(Duration::from_millis(200))).unwrap();
        let mut head = [0; 1_024];
        let length = stream.read(&mut head).ok()?;
        Some(String::from_utf8_lossy(&head[..length]).into_owned())
    });
    let rejected: Vec<String> = rejected.collect();
    assert!(
        rejected.len() >= 12
            && rejected
                .iter()
                .all(|head| head.starts_with("HTTP/1.1 429 ") && head.contains("retry-after: 2\r\n")),
        "{rejected:?}"
    );
    drop(open);
    assert!(eventually(|| occupied(&server) < 1.0), "the memory is free");
}

#[tokio::test(flavor = "multi_thread")]
async fn unread_responses_occupy_the_part_of_their_address() {
    let redis = Redis::start();
    let server = server(&redis, &["--post-publishes-per-author", "1000"]);
    let token = server.token("ada");
    let long = "\u{1f426}".repeat(2_000);
    for _ in 0..100 {
        publish(&server, &token, &long);
    }
    // Far more than the system keeps for a connection.
    let pages: Vec<String> =
        (0..8).map(|number| format!("p{number}: posts(first: 100) {{ nodes {{ content }} }}")).collect();
    let query = &format!("{{ user(by: {{ username: \"ada\" }}) {{ {} }} }}", pages.join(" "));
    let mut open: Vec<TcpStream> = (0..6).map(|_| connect_from(&server, [127, 0, 0, 1])).collect();
    let statuses: Vec<u16> = open
        .iter_mut()
        .map(|stream| {
            ask(stream, query);
            status(stream)
        })
        .collect();
    assert_eq!(statuses, [200, 429, 429, 429, 429, 429], "a response of 6 MB alone has room");
    assert_others_are_served(&server);
    drop(open);
    assert!(eventually(|| occupied(&server) < 1.0), "the memory is free");
    // Who reads is served as often as they like.
    for _ in 0..3 {
        assert_eq!(server.ask(query)["data"]["user"]["p7"]["nodes"].as_array().unwrap().len(), 100);
    }
}

/// A subscription of about 700 KB in memory.
fn large_subscription() -> String {
    let users: Vec<String> = (0..30).map(|number| format!("u{number}: user {{ ...U }}")).collect();
    format!(
        "subscription {{ relationChanged {{ ... on RelationChanged {{ relation {{ {} }} }} }} }}
        fragment U on User {{ ...V followers(first: 1) {{ ...C }} following(first: 1) {{ ...C }} }}
        fragment V on User {{ id username displayName bio avatarUrl createdAt isPrivate isViewer __typename }}
        fragment C on FollowConnection {{ totalCount nodes {{ ...V }} pageInfo {{
            hasNextPage hasPreviousPage startCursor endCursor }} }}",
        users.join(" ")
    )
}

#[tokio::test]
async fn operations_that_wait_occupy_the_part_of_their_address() {
    let redis = Redis::start();
    let server = server(&redis, &[]);
    let token = server.token("ada");
    let mut first = Socket::acknowledged(&server, Some(&token)).await;
    let mut second = Socket::acknowledged(&server, Some(&token)).await;
    first.subscribe("1", &large_subscription(), Value::Null).await;
    assert!(eventually(|| occupied(&server) > 600_000.0));
    second.subscribe("2", &large_subscription(), Value::Null).await;
    let rejected = second.receive().await;
    assert_eq!(rejected["payload"][0]["extensions"]["code"], "RATE_LIMITED", "{rejected}");
    assert!(occupied(&server) <= PART_OF_ADDRESS);
    first.send(json!({ "type": "complete", "id": "1" })).await;
    assert!(eventually(|| occupied(&server) < 1.0), "the memory is free");
    second.subscribe("2", &large_subscription(), Value::Null).await;
    assert!(eventually(|| occupied(&server) > 600_000.0));
}

#[tokio::test]
async fn an_operation_that_runs_alone_on_a_socket_may_occupy_nothing() {
    let redis = Redis::start();
    let server = server(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    socket.watch_relations("status").await;
    assert!(occupied(&server) < 1.0);
    socket.subscribe("second", "subscription { relationChanged { __typename } }", Value::Null).await;
    assert!(eventually(|| occupied(&server) > 100.0));
}

#[tokio::test]
async fn unfinished_messages_occupy_the_part_of_their_address() {
    let redis = Redis::start();
    let server = server(&redis, &[]);
    let mut open = Vec::new();
    for _ in 0..30 {
        let mut socket = Socket::acknowledged(&server, None).await;
        let begin = Frame::message(vec![b' '; 60_000], OpCode::Data(Data::Text), false);
        // The server may close it at any moment.
        drop(futures::SinkExt::send(&mut socket.0, Message::Frame(begin)).await);
        open.push(socket);
    }
    assert!(eventually(|| occupied(&server) > PART_OF_ADDRESS - 130_000.0));
    assert!(occupied(&server) <= PART_OF_ADDRESS);
    assert_eq!(
        open[29].receive().await,
        json!([
            1013,
            "This address has too many requests and unread responses in progress. Try again later."
        ])
    );
    drop(open);
    assert!(eventually(|| occupied(&server) < 1.0), "the memory is free");
}

#[tokio::test]
async fn an_operation_waits_for_a_place_no_longer_than_it_may_take() {
    let redis = Redis::start();
    let options = ["--graphql-query-timeout", "1", "--post-publishes-per-author", "1000"];
    let server = Server::over(&redis, &options);
    let token = server.token("ada");
    let long = "\u{1f426}".repeat(2_000);
    for _ in 0..100 {
        publish(&server, &token, &long);
    }
    let query = "{ user(by: { username: \"ada\" }) { posts(first: 100) { nodes { content } } } }";
    let mut socket = Socket::acknowledged(&server, None).await;
    for number in 0..60 {
        socket.subscribe(&number.to_string(), query, Value::Null).await;
    }
    // Nothing is read until all have waited for longer than the timeout.
    tokio::time::sleep(Duration::from_secs(3)).await;
    let (mut answered, mut late) = (0, 0);
    while answered + late < 60 {
        let message = socket.receive().await;
        match (&message["type"], &message["payload"][0]["extensions"]["code"]) {
            (kind, _) if kind == "next" => answered += 1,
            (kind, code) if kind == "error" && code == "TIMEOUT" => late += 1,
            (kind, _) if kind == "complete" => {}
            other => panic!("{other:?}"),
        }
    }
    assert!(answered > 0 && late > 0, "{answered} answered, {late} late");
}
