//! Streams of events over plain HTTP, and rules that they share with sockets.

use std::io::{BufRead as _, BufReader, Write as _};
use std::net::TcpStream;

use serde_json::{Value, json};

use crate::harness::feed::{TIMELINE, follow, publish};
use crate::harness::server::Server;
use crate::harness::socket::Socket;
use crate::harness::wait::SIGNALLED;
use crate::harness::world::Redis;

/// Sends a request for events, and returns a reader of the response.
fn events(server: &Server, head: &str, more: &str, body: &str) -> BufReader<TcpStream> {
    let mut stream = TcpStream::connect(&server.address).unwrap();
    stream.set_read_timeout(Some(SIGNALLED)).unwrap();
    let length = body.len();
    write!(stream, "{head} HTTP/1.1\r\nhost: localhost\r\naccept: text/event-stream\r\n{more}content-type: application/json\r\ncontent-length: {length}\r\n\r\n{body}").unwrap();
    BufReader::new(stream)
}

/// Returns the next line that begins with this; `None` at the end.
fn line(reader: &mut BufReader<TcpStream>, beginning: &str) -> Option<String> {
    loop {
        let mut line = String::new();
        if reader.read_line(&mut line).ok()? == 0 {
            return None;
        }
        if line.starts_with(beginning) {
            return Some(line.trim_end().to_owned());
        }
    }
}

#[tokio::test]
async fn events_come_over_plain_http() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let (ada, ben) = (server.token("ada"), server.token("ben"));
    follow(&server, &ada, "ben");
    publish(&server, &ben, "before");
    let page = server.ask_as(&ada, "{ viewer { timeline { edges { cursor } } } }");
    let after = &page["data"]["viewer"]["timeline"]["edges"][0]["cursor"];
    let authorization = format!("authorization: Bearer {ada}\r\naccept-encoding: gzip\r\n");
    let body = json!({ "query": TIMELINE, "variables": { "after": after } }).to_string();
    let mut feed = events(&server, "POST /graphql", &authorization, &body);
    assert_eq!(line(&mut feed, "HTTP/").unwrap(), "HTTP/1.1 200 OK");
    assert_eq!(line(&mut feed, "content-type").unwrap(), "content-type: text/event-stream");
    publish(&server, &ben, "now");
    assert_eq!(line(&mut feed, "event").unwrap(), "event: next");
    let data: Value = serde_json::from_str(&line(&mut feed, "data: ").unwrap()[6..]).unwrap();
    assert_eq!(data["data"]["timeline"]["edge"]["node"]["content"], "now");
    // The session ends, and so do the events.
    server.ask_as(&ada, "mutation { logout { userErrors { code } } }");
    let data: Value = serde_json::from_str(&line(&mut feed, "data: ").unwrap()[6..]).unwrap();
    assert_eq!(data["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    assert_eq!(line(&mut feed, "event").unwrap(), "event: complete");

    let body = json!({ "query": "{ __typename }" }).to_string();
    let mut feed = events(&server, "POST /graphql", "", &body);
    assert_eq!(line(&mut feed, "data").unwrap(), r#"data: {"data":{"__typename":"Query"}}"#);
    assert_eq!(line(&mut feed, "event").unwrap(), "event: complete");
    let mut feed =
        events(&server, "GET /graphql?query=subscription%7BrelationChanged%7B__typename%7D%7D", "", "");
    let data: Value = serde_json::from_str(&line(&mut feed, "data: ").unwrap()[6..]).unwrap();
    assert_eq!(data["errors"][0]["extensions"]["code"], "UNAUTHENTICATED");
    for (head, body, status) in [
        ("POST /graphql", "{ \"query\": \"{ nothing }\" }", "HTTP/1.1 400 Bad Request"),
        (
            "GET /graphql?query=mutation%7Blogout%7BuserErrors%7Bcode%7D%7D%7D",
            "",
            "HTTP/1.1 405 Method Not Allowed",
        ),
    ] {
        assert_eq!(line(&mut events(&server, head, "", body), "HTTP/").unwrap(), status);
    }
    let body = json!({ "query": "subscription { relationChanged { __typename } }" }).to_string();
    assert_eq!(server.send("POST /graphql", &body).0, 406);
}

#[tokio::test]
async fn operations_over_sockets_and_streams_are_charged() {
    let redis = Redis::start();
    let server = Server::over(&redis, &["--graphql-rate-limit", "1", "--graphql-cost-limit", "100"]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    let large = "{ viewer { user { followers(first: 40) { nodes { id } edges { cursor } } } } }";
    socket.subscribe("1", large, Value::Null).await;
    assert_eq!(socket.receive().await["type"], "next");
    assert_eq!(socket.receive().await["type"], "complete");
    for query in [
        large,
        "subscription { timeline { ... on PostAdded { edge { node { author { followers { nodes { id } } } } } } } }",
    ] {
        socket.subscribe("2", query, Value::Null).await;
        let received = socket.receive().await;
        assert_eq!((&received["type"], &received["id"]), (&json!("error"), &json!("2")), "{received}");
        assert_eq!(received["payload"][0]["extensions"]["code"], "RATE_LIMITED");
        let authorization = format!("authorization: Bearer {token}\r\n");
        let body = json!({ "query": query }).to_string();
        let mut feed = events(&server, "POST /graphql", &authorization, &body);
        let first = line(&mut feed, if query == large { "data" } else { "HTTP/" }).unwrap();
        assert!(first.contains("RATE_LIMITED") || first == "HTTP/1.1 429 Too Many Requests", "{first}");
    }
}

#[tokio::test]
async fn a_server_that_stops_notifies_all_watchers() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let token = server.token("ada");
    let mut socket = Socket::acknowledged(&server, Some(&token)).await;
    let query = "subscription { relationChanged { __typename } }";
    socket.subscribe("r", query, Value::Null).await;
    let authorization = format!("authorization: Bearer {token}\r\n");
    let mut feed = events(&server, "POST /graphql", &authorization, &json!({ "query": query }).to_string());
    assert_eq!(line(&mut feed, "HTTP/").unwrap(), "HTTP/1.1 200 OK");
    // Last: a socket may be silent for three seconds.
    let mut silent = Socket::silent(&server).await;
    server.signal("-TERM");
    assert_eq!(socket.receive().await, json!([1001, "Going away"]));
    assert_eq!(silent.receive().await, json!([1001, "Going away"]));
    // It breaks off, so that the client reconnects to another server.
    assert_eq!(line(&mut feed, "event"), None);
    drop((socket, silent));
    assert_eq!(server.end(), Some(0));
}
