//! Handshakes of sockets: the rules of the upgrade, and its origin.

use std::io::{Read as _, Write as _};

use axum::http::{Method, StatusCode};
use tokio_tungstenite::tungstenite::Error;

use crate::harness::request;
use crate::harness::server::{Server, connected};
use crate::harness::socket::Socket;
use crate::harness::world::{Redis, World};

#[tokio::test]
async fn a_handshake_that_breaks_the_rules_is_rejected() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let valid = [
        ("connection", "keep-alive, Upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let lines = |wrong: &str, value: Option<&str>| {
        let value_of = |(name, valid)| if name == wrong { value } else { Some(valid) };
        let lines = valid.iter().filter_map(|line| Some(format!("{}: {}\r\n", line.0, value_of(*line)?)));
        lines.collect::<String>()
    };
    let head = "GET /graphql HTTP/1.1\r\nhost: localhost\r\n";
    assert!(response_to(&server, &format!("{head}{}\r\n", lines("", None))).starts_with("HTTP/1.1 101 "));

    let query = "`query` is missing";
    let connection = "The header Connection must name Upgrade.";
    let version = "The header Sec-WebSocket-Version must be 13.";
    let key = "The header Sec-WebSocket-Key must be 16 bytes in base64.";
    for (name, value, status, message) in [
        // Without a known protocol to upgrade to, it is a query without a document.
        ("upgrade", None, 400, query),
        ("upgrade", Some("h2c"), 400, query),
        ("connection", None, 400, connection),
        ("connection", Some("keep-alive"), 400, connection),
        ("sec-websocket-version", None, 426, version),
        ("sec-websocket-version", Some("8"), 426, version),
        ("sec-websocket-key", None, 400, key),
        ("sec-websocket-key", Some("dGhlIHNhbXBsZQ=="), 400, key),
        ("sec-websocket-key", Some("not in base64"), 400, key),
    ] {
        let response = response_to(&server, &format!("{head}{}\r\n", lines(name, value)));
        assert!(response.starts_with(&format!("HTTP/1.1 {status} ")), "{name}: {value:?}: {response}");
        assert!(
            response.contains(message) && response.contains("BAD_REQUEST"),
            "{name}: {value:?}: {response}"
        );
        let is_named = response.contains("\r\nsec-websocket-version: 13\r\n");
        assert_eq!(is_named, status == 426, "{name}: {value:?}: {response}");
    }
}

#[tokio::test]
async fn a_handshake_without_a_connection_to_upgrade_is_rejected() {
    // The router in process has no connection.
    let world = World::new().await;
    let headers = [
        ("connection", "upgrade"),
        ("upgrade", "websocket"),
        ("sec-websocket-version", "13"),
        ("sec-websocket-key", "dGhlIHNhbXBsZSBub25jZQ=="),
    ];
    let (status, _, response) = request::send(&world, Method::GET, "/graphql", &headers, "").await;
    assert_eq!(status, StatusCode::BAD_REQUEST);
    assert_eq!(response["errors"][0]["message"], "The connection cannot become a WebSocket.");
}

/// Sends the head of a request, and reads the first part of the response.
fn response_to(server: &Server, head: &str) -> String {
    let mut stream = connected(&server.address);
    stream.write_all(head.as_bytes()).unwrap();
    let mut bytes = [0; 4_096];
    let count = stream.read(&mut bytes).unwrap();
    String::from_utf8_lossy(&bytes[..count]).into_owned()
}

#[tokio::test]
async fn pages_of_other_sites_open_no_socket() {
    let redis = Redis::start();
    let server = Server::over(&redis, &[]);
    let protocol = ("sec-websocket-protocol", "graphql-transport-ws");
    match Socket::open(&server, &[protocol, ("origin", "https://evil.example")]).await {
        Err(Error::Http(response)) => assert_eq!(response.status(), 403),
        other => panic!("{:?}", other.map(|_| ())),
    }
    assert!(Socket::open(&server, &[protocol, ("origin", "http://localhost:5173")]).await.is_ok());
}
