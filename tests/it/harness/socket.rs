//! The client's end of a WebSocket to a server.

use std::time::Duration;

use futures::{SinkExt as _, StreamExt as _};
use serde_json::{Value, json};
use tokio::net::TcpStream;
use tokio_tungstenite::tungstenite::client::IntoClientRequest as _;
use tokio_tungstenite::tungstenite::http::HeaderValue;
use tokio_tungstenite::tungstenite::{Error, Message};
use tokio_tungstenite::{MaybeTlsStream, WebSocketStream, connect_async};

use crate::harness::server::Server;
use crate::harness::wait::{SIGNALLED, eventually};

/// The client's end of a socket.
pub(crate) struct Socket(pub(crate) WebSocketStream<MaybeTlsStream<TcpStream>>);

/// Returns the subscription to relations, with these fields of each.
pub(crate) fn relation_events(fields: &str) -> String {
    let changed = format!("... on RelationChanged {{ relation {{ {fields} }} }}");
    format!("subscription {{ relationChanged {{ __typename {changed} }} }}")
}

impl Socket {
    /// Opens a socket, and sends nothing.
    pub(crate) async fn open(server: &Server, headers: &[(&'static str, &str)]) -> Result<Self, Error> {
        let mut request = format!("ws://{}/graphql", server.address).into_client_request()?;
        for (name, value) in headers {
            request.headers_mut().insert(*name, HeaderValue::from_str(value).unwrap());
        }
        connect_async(request).await.map(|(socket, _)| Self(socket))
    }

    /// Opens a socket at this address, if there is a server.
    pub(crate) async fn at(address: &str) -> Option<Self> {
        let mut request = format!("ws://{address}/graphql").into_client_request().ok()?;
        let protocol = HeaderValue::from_static("graphql-transport-ws");
        request.headers_mut().insert("sec-websocket-protocol", protocol);
        Some(Self(connect_async(request).await.ok()?.0))
    }

    pub(crate) async fn silent(server: &Server) -> Self {
        Self::open(server, &[("sec-websocket-protocol", "graphql-transport-ws")]).await.unwrap()
    }

    /// Opens a socket, and waits until its initialisation is acknowledged.
    pub(crate) async fn acknowledged(server: &Server, token: Option<&str>) -> Self {
        let mut socket = Self::silent(server).await;
        let payload = token.map(|token| json!({ "Authorization": format!("Bearer {token}") }));
        socket.send(json!({ "type": "connection_init", "payload": payload })).await;
        assert_eq!(socket.receive().await, json!({ "type": "connection_ack" }));
        socket
    }

    pub(crate) async fn send(&mut self, message: Value) {
        self.0.send(Message::text(message.to_string())).await.unwrap();
    }

    pub(crate) async fn subscribe(&mut self, id: &str, query: &str, variables: Value) {
        let payload = json!({ "query": query, "variables": variables });
        self.send(json!({ "id": id, "type": "subscribe", "payload": payload })).await;
    }

    /// Subscribes to a timeline, and returns once the server has begun to watch it: once it has looked for changes. No
    /// other watch of the server may have a reason to look meanwhile.
    pub(crate) async fn watch_timeline(&mut self, server: &Server, query: &str, variables: Value) {
        let looks = || server.round_trips("live: removed");
        let before = looks();
        self.subscribe("t", query, variables).await;
        assert!(eventually(|| looks() > before), "the watch begins");
        assert!(self.is_silent().await);
    }

    /// Subscribes to relations, with these fields of each, and returns once the server has begun to watch them. It must
    /// already receive the signals about this user.
    pub(crate) async fn watch_relations(&mut self, fields: &str) {
        self.subscribe("r", &relation_events(fields), Value::Null).await;
        // This operation begins later, and makes a round trip more.
        self.subscribe("q", "{ viewer { user { username } } }", Value::Null).await;
        assert_eq!(self.receive().await["type"], "next");
        assert_eq!(self.receive().await, json!({ "id": "q", "type": "complete" }));
        assert!(self.is_silent().await);
    }

    /// Returns the next message; an array of code and reason if it is closed.
    pub(crate) async fn receive(&mut self) -> Value {
        loop {
            let message =
                tokio::time::timeout(SIGNALLED, self.0.next()).await.expect("a message arrives in time");
            match message {
                Some(Ok(Message::Text(text))) => return serde_json::from_str(&text).unwrap(),
                Some(Ok(Message::Close(Some(frame)))) => {
                    return json!([u16::from(frame.code), frame.reason.as_str()]);
                }
                Some(Ok(Message::Ping(_) | Message::Pong(_))) => {}
                other => panic!("{other:?}"),
            }
        }
    }

    /// Returns whether no message arrives for a moment. On a busy machine, one may arrive later.
    pub(crate) async fn is_silent(&mut self) -> bool {
        tokio::time::timeout(Duration::from_millis(300), self.receive()).await.is_err()
    }
}
